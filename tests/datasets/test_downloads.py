"""Downloads, against files of the same form on a loopback server."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import struct
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from diffgan.datasets import downloads, load_dataset
from diffgan.errors import DataError


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/", folder
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "datasets"


def serve(folder: Path, name: str, content: bytes) -> tuple[str, str]:
    (folder / name).write_bytes(content)
    return name, hashlib.md5(content, usedforsecurity=False).hexdigest()


def serve_mnist(folder: Path) -> list[tuple[str, str]]:
    images = np.arange(3 * 28 * 28, dtype=np.uint32).astype(np.uint8)
    resources = []
    for split in ("train", "t10k"):
        pixels = struct.pack(">IIII", 0x803, 3, 28, 28) + images.tobytes()
        labels = struct.pack(">II", 0x801, 3) + bytes([7, 0, 9])
        resources.append(serve(folder, f"{split}-images-idx3-ubyte.gz", gzip.compress(pixels)))
        resources.append(serve(folder, f"{split}-labels-idx1-ubyte.gz", gzip.compress(labels)))
    return resources


def test_mnist_is_downloaded_once(server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision.datasets import MNIST

    address, folder = server
    monkeypatch.setattr(MNIST, "mirrors", [address])
    monkeypatch.setattr(MNIST, "resources", serve_mnist(folder))
    data = load_dataset("mnist")
    assert data.labels.tolist() == [7, 0, 9]
    assert data.images.shape == (3, 28, 28, 1)
    assert data.images[0, 0, :3, 0].tolist() == [0, 1, 2]
    assert load_dataset("mnist:train").name == "mnist:train"
    for file in folder.iterdir():
        file.unlink()
    assert load_dataset("mnist").fingerprint == data.fingerprint


def test_a_corrupted_download_is_refused(server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision.datasets import MNIST

    address, folder = server
    monkeypatch.setattr(MNIST, "mirrors", [address])
    monkeypatch.setattr(MNIST, "resources", serve_mnist(folder))
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(b"another file")
    with pytest.raises(DataError, match="mnist cannot be had"):
        load_dataset("mnist")


def serve_cifar10(folder: Path) -> str:
    record = bytes([3]) + bytes(range(256)) * 12
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in ["test_batch.bin", *(f"data_batch_{number}.bin" for number in range(1, 6))]:
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = 2 * len(record)
            archive.addfile(member, io.BytesIO(record * 2))
    return serve(folder, "cifar-10-binary.tar.gz", buffer.getvalue())[1]


def test_cifar10_is_read_without_a_pickle(server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    address, folder = server
    monkeypatch.setattr(downloads, "_CIFAR10_MD5", serve_cifar10(folder))
    monkeypatch.setattr(downloads, "_CIFAR10", address + "cifar-10-binary.tar.gz")
    data = load_dataset("cifar10")
    assert data.classes[data.labels[0]] == "cat"
    assert data.images.shape == (2, 32, 32, 3)
    # Channel after channel in the file: pixel (0, 1) is byte 1 of each plane of 1,024.
    assert data.images[0, 0, 1].tolist() == [1, 1, 1]
    assert len(load_dataset("cifar10:train")) == 10


def test_no_network_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    from torchvision.datasets import FashionMNIST

    # A port of this machine on which nobody listens.
    monkeypatch.setattr(FashionMNIST, "mirrors", ["http://127.0.0.1:9/"])
    with pytest.raises(DataError, match="Check the network") as caught:
        load_dataset("fashion-mnist")
    assert str(cache) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_svhn_has_its_labels_and_its_channels_last(monkeypatch: pytest.MonkeyPatch, server: tuple[str, Path]) -> None:
    from scipy.io import savemat
    from torchvision.datasets import SVHN

    address, folder = server
    images = np.zeros((32, 32, 3, 2), dtype=np.uint8)
    images[0, 1, 2, 1] = 9
    savemat(folder / "test_32x32.mat", {"X": images, "y": np.array([[10], [3]])})
    name, digest = serve(folder, "test_32x32.mat", (folder / "test_32x32.mat").read_bytes())
    monkeypatch.setattr(SVHN, "split_list", {"test": [address + name, name, digest]})
    data = load_dataset("svhn")
    assert data.labels.tolist() == [0, 3]
    assert data.images[1, 0, 1, 2] == 9
