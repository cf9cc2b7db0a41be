"""Mutations of images: what strategies without a generator change a real image with. See docs/strategies.md.

A mutation takes N images (uint8, N x H x W x C) and gives as many, each changed with parameters of its own. The
functions beneath take those parameters; `operators` draws them as the peers do.
"""

from __future__ import annotations

from diffgan.search.mutations.operators import DFLARE, DRFUZZ, Mutation, mutate

__all__ = ["DFLARE", "DRFUZZ", "Mutation", "mutate"]
