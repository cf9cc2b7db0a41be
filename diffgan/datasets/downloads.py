"""Data that torchvision downloads, to torch's cache folder."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from diffgan import configs
from diffgan.datasets.dataset import Dataset
from diffgan.errors import DataError

_CIFAR10 = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
_CIFAR10_MD5 = "c32a1d4ab5d03f1284b67883e8d87530"


def download_folder() -> Path:
    """`$TORCH_HOME/datasets`, or `torch/datasets` in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("TORCH_HOME") or cache / "torch").expanduser() / "datasets"


def download(name: str, split: str) -> Dataset:
    """One split of a downloadable dataset; from the cache where it is there already.

    Raises:
        DataError: it cannot be downloaded, or its files do not have the expected checksum.
    """
    folder = download_folder()
    try:
        images, labels = _READERS[name](folder, split)
    except (OSError, RuntimeError, EOFError, ValueError, tarfile.TarError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{name} cannot be had ({reason}): it is downloaded once, to {folder}. Check the network and the disk, "
            "or give the data as an .npz (images uint8 N×H×W×C, labels) or a folder of images."
        ) from error
    title = name if split == "test" else f"{name}:{split}"
    return Dataset.checked(title, images, labels, classes=tuple(configs.read(name)["classes"]))


def _idx(kind: str) -> Callable[[Path, str], tuple[Any, Any]]:
    def read(folder: Path, split: str) -> tuple[Any, Any]:
        import torchvision.datasets

        found = getattr(torchvision.datasets, kind)(str(folder), train=split == "train", download=True)
        return found.data.numpy(), found.targets.numpy()

    return read


def _svhn(folder: Path, split: str) -> tuple[Any, Any]:
    from torchvision.datasets import SVHN

    found = SVHN(str(folder / "SVHN"), split=split, download=True)
    return found.data.transpose(0, 2, 3, 1), found.labels.astype(np.int64)


def _cifar10(folder: Path, split: str) -> tuple[Any, Any]:
    """The binary version: torchvision's own reader unpickles the Python one."""
    from torchvision.datasets.utils import download_url

    download_url(_CIFAR10, str(folder), md5=_CIFAR10_MD5)
    members = ["test_batch.bin"] if split == "test" else [f"data_batch_{number}.bin" for number in range(1, 6)]
    with tarfile.open(folder / Path(_CIFAR10).name) as archive:
        parts = []
        for member in members:
            file = archive.extractfile(f"cifar-10-batches-bin/{member}")
            if file is None:
                raise ValueError(f"the archive has no {member}")
            parts.append(np.frombuffer(file.read(), dtype=np.uint8))
    records = np.concatenate(parts).reshape(-1, 1 + 3 * 32 * 32)
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), records[:, 0].astype(np.int64)


_READERS: dict[str, Callable[[Path, str], tuple[Any, Any]]] = {
    "mnist": _idx("MNIST"),
    "fashion-mnist": _idx("FashionMNIST"),
    "cifar10": _cifar10,
    "svhn": _svhn,
}
DOWNLOADABLE = tuple(_READERS)
