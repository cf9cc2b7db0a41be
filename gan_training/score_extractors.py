"""The extractor that is asked for by name, where its weights come from elsewhere."""

from __future__ import annotations

from pathlib import Path

from diffgan.features.extractors import Extractor, open_pretrained


def open_extractor(name: str, weights: Path | None) -> Extractor | None:
    """`inception` or `vgg16`; None for `learned`, which is the data's own classifier.

    Args:
        name: of the extractor; see `diffgan.features.extractors.check_name`.
        weights: a file; None: where their packages keep them.

    Raises:
        UsageError: there is no such extractor.
        ModelError: the file cannot be read or does not fit, or a download failed.
        MissingExtraError: the package with the weights is not there.
    """
    if name == "learned":
        return None
    # Neither of features and models may import the other: the way to open TorchScript is handed in.
    from diffgan.models.torchscript import open_module

    return open_pretrained(name, weights, open_module=open_module)
