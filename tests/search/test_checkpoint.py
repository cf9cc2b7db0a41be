"""Checkpoints: what was packed comes back, and what cannot change is packed once."""

from __future__ import annotations

import numpy as np
import pytest

from diffgan.errors import ArchiveError
from diffgan.search.budgets import Spent
from diffgan.search.checkpoint import Packer, unpack
from diffgan.search.strategies.protocol import State


def test_what_was_packed_comes_back() -> None:
    state: State = {"a": np.arange(6).reshape(2, 3)[:, ::2], "empty": np.empty((0, 4), dtype=np.float32)}
    spent, arrays, extra = unpack(Packer().pack(Spent(evaluations=7), state, {"generation": 3}))
    assert (spent.evaluations, extra) == (7, {"generation": 3})
    assert arrays["a"].tolist() == [[0, 2], [3, 5]]
    assert arrays["empty"].shape == (0, 4)
    assert arrays["empty"].dtype == np.float32
    assert arrays["a"].flags.writeable


def test_a_frozen_array_is_packed_once_and_another_under_its_name_anew() -> None:
    packer, frozen = Packer(), np.arange(3)
    frozen.flags.writeable = False
    first = packer.pack(Spent(), {"part": frozen}, {})["strategy/part"]
    assert packer.pack(Spent(), {"part": frozen}, {})["strategy/part"] is first
    other = frozen + 1
    other.flags.writeable = False
    assert packer.pack(Spent(), {"part": other}, {})["strategy/part"] == other.tobytes()


@pytest.mark.parametrize("frozen", [True, False])
def test_what_can_be_written_into_is_packed_each_time(frozen: bool) -> None:
    packer, whole = Packer(), np.arange(3)
    # A view that is read-only itself changes with what it is a view of.
    shown = whole[:]
    shown.flags.writeable = not frozen
    packer.pack(Spent(), {"part": shown}, {})
    whole[0] = 9
    assert packer.pack(Spent(), {"part": shown}, {})["strategy/part"] == whole.tobytes()


def test_a_damaged_one_says_what_to_do() -> None:
    parts = Packer().pack(Spent(), {"part": np.arange(3)}, {})
    with pytest.raises(ArchiveError, match="search on in another --out"):
        unpack({**parts, "strategy/part": b"1234567"})
