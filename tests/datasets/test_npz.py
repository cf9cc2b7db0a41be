"""An .npz from anywhere: good data, or one clear line."""

from __future__ import annotations

import contextlib
import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from diffgan.datasets import Dataset, load_dataset
from diffgan.datasets import npz as npz_module
from diffgan.errors import DataError

IMAGES = np.arange(4 * 16, dtype=np.uint8).reshape(4, 4, 4, 1)


def npz_bytes(save: Callable[..., None] = np.savez, **changed: object) -> bytes:
    buffer = io.BytesIO()
    save(buffer, **{"images": IMAGES, "labels": np.arange(4), **changed})
    return buffer.getvalue()


def load(tmp_path: Path, content: bytes) -> Dataset:
    path = tmp_path / "d.npz"
    path.write_bytes(content)
    return load_dataset(path)


def refused(tmp_path: Path, content: bytes) -> str:
    with pytest.raises(DataError) as caught:
        load(tmp_path, content)
    line = str(caught.value)
    assert "d.npz" in line
    assert "\n" not in line
    return line


def zipped(images: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    """An .npz with these bytes as its images."""
    labels = io.BytesIO()
    np.save(labels, np.arange(4))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("images.npy", images)
        archive.writestr("labels.npy", labels.getvalue())
    return buffer.getvalue()


def npy_header(shape: tuple[int, ...]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def patched(content: bytes, *, local: int, central: int, value: int) -> bytes:
    """Two bytes of every member's local and central zip header, replaced."""
    changed = bytearray(content)
    for magic, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        start = content.find(magic)
        while start >= 0:
            struct.pack_into("<H", changed, start + offset, value)
            start = content.find(magic, start + 1)
    return bytes(changed)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_both_ways_to_save_read_alike(tmp_path: Path, save: Callable[..., None]) -> None:
    data = load(tmp_path, npz_bytes(save))
    np.testing.assert_array_equal(data.images, IMAGES)
    assert data.labels.tolist() == [0, 1, 2, 3]


def test_arrays_in_fortran_order_read_alike(tmp_path: Path) -> None:
    np.testing.assert_array_equal(load(tmp_path, npz_bytes(images=np.asfortranarray(IMAGES))).images, IMAGES)


def test_a_damaged_deflate_stream_is_refused(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 8, 8, 1)).astype(np.uint8)
    content = bytearray(npz_bytes(np.savez_compressed, images=noise, labels=np.zeros(64, int)))
    content[60:90] = b"\xff" * 30
    assert "no complete .npz" in refused(tmp_path, bytes(content))


@pytest.mark.parametrize("shape", [(3 * 10**15, 1, 1), (5, 4, 4), (-2, -32), (2**40, 2**40, 2**40)])
def test_a_header_that_claims_other_bytes_is_refused_before_it_is_allocated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    def allocate(*_: object, **__: object) -> None:
        raise AssertionError("read before the header was checked")

    monkeypatch.setattr(np.lib.format, "read_array", allocate)
    assert "(images) is no complete array" in refused(tmp_path, zipped(npy_header(shape) + bytes(64)))


def test_data_beyond_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def allocate(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_array", allocate)
    assert "does not fit into memory" in refused(tmp_path, npz_bytes())


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    assert "is encrypted" in refused(tmp_path, patched(npz_bytes(), local=6, central=8, value=1))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 99])
def test_another_compression_is_refused(tmp_path: Path, method: int) -> None:
    content = patched(npz_bytes(), local=8, central=10, value=method)
    assert f"compressed by method {method}" in refused(tmp_path, content)


def test_an_npy_by_another_name_is_said_to_be_one(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, IMAGES)
    assert "holds a single array" in refused(tmp_path, buffer.getvalue())


def test_a_text_file_is_not_said_to_hold_pickles(tmp_path: Path) -> None:
    line = refused(tmp_path, b"images, labels\n1, 2\n")
    assert "does not begin as a zip archive" in line
    assert "pickle" not in line


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 200_000
    content = npz_bytes(np.savez_compressed, images=np.zeros((count, 4, 4, 1), np.uint8), labels=np.zeros(count, int))
    assert len(load(tmp_path, content)) == count
    monkeypatch.setattr(npz_module, "_FREE_BYTES", 2**20)
    assert "would unpack to 4,800,256 bytes" in refused(tmp_path, content)
    # As large, but no larger than its file.
    stored = npz_bytes(images=np.zeros((count, 4, 4, 1), np.uint8), labels=np.zeros(count, int))
    assert len(load(tmp_path, stored)) == count


@pytest.mark.parametrize("label", [2**63, 2**64 - 1])
def test_a_label_beyond_int64_does_not_wrap(tmp_path: Path, label: int) -> None:
    labels = np.array([0, 1, 2, label], dtype=np.uint64)
    assert f"has the label {label}" in refused(tmp_path, npz_bytes(labels=labels))
    named = npz_bytes(labels=labels, classes=np.array(["a", "b", "c"]))
    assert f"has the label {label}, but only 3 classes" in refused(tmp_path, named)


def test_a_label_that_is_no_class_index_is_refused(tmp_path: Path) -> None:
    assert "at most 99,999" in refused(tmp_path, npz_bytes(labels=np.array([0, 1, 2, 2**40])))
    assert "has the label 100000;" in refused(tmp_path, npz_bytes(labels=np.array([0, 1, 2, 100_000])))
    assert len(load(tmp_path, npz_bytes(labels=np.array([0, 1, 2, 99_999]))).classes) == 100_000


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (np.array([b"a", b"b", b"c", "ü".encode()]), ("a", "b", "c", "ü")),
        (np.array([b"a", b"b", b"c", b"\xff"]), ("a", "b", "c", "\\xff")),
        (np.array([10, 20, 30, 40]), ("10", "20", "30", "40")),
        (np.array(["", "b", "c", "d"]), ("", "b", "c", "d")),
    ],
)
def test_class_names_of_any_type_become_text(
    tmp_path: Path, classes: NDArray[np.generic], names: tuple[str, ...]
) -> None:
    assert load(tmp_path, npz_bytes(classes=classes)).classes == names


def test_classes_as_objects_are_refused_with_the_way_out(tmp_path: Path) -> None:
    line = refused(tmp_path, npz_bytes(classes=np.array(["a", "b", "c", "d"], dtype=object)))
    assert "(classes) holds pickled objects" in line
    assert "dtype=str" in line


def test_a_class_name_given_twice_is_refused(tmp_path: Path) -> None:
    line = refused(tmp_path, npz_bytes(classes=np.array(["cat", "dog", "fox", "dog"])))
    assert "the class name 'dog' twice (classes 1 and 3)" in line


def test_no_class_names_at_all_are_too_few(tmp_path: Path) -> None:
    assert "only 0 classes" in refused(tmp_path, npz_bytes(classes=np.array([], dtype=str)))


def test_another_zip_lists_only_some_of_what_it_holds(tmp_path: Path) -> None:
    line = refused(tmp_path, npz_bytes_without_either())
    assert "has no images and no labels (it holds x00, x01," in line
    assert "x09, ...)" in line


def npz_bytes_without_either() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{f"x{number:02}": np.zeros(1) for number in range(50)})  # type: ignore[arg-type]
    return buffer.getvalue()


def test_a_structured_array_with_names_beyond_ascii_is_refused(tmp_path: Path) -> None:
    labels = np.zeros(4, dtype=[("ж", "i8")])
    with pytest.warns(UserWarning, match="format 3.0"):
        content = npz_bytes(labels=labels)
    assert "(labels) has an array of format (3, 0)" in refused(tmp_path, content)


_WHOLE = npz_bytes(np.savez_compressed, classes=np.array(["a", "b", "c", "d"]))


@given(place=st.integers(0, len(_WHOLE) - 1), value=st.integers(0, 255), cut=st.integers(0, len(_WHOLE)))
def test_whatever_is_damaged_there_is_data_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int, cut: int
) -> None:
    damaged = bytearray(_WHOLE)
    damaged[place] = value
    for content in (bytes(damaged), _WHOLE[:cut]):
        path = tmp_path_factory.getbasetemp() / "damaged.npz"
        path.write_bytes(content)
        with contextlib.suppress(DataError):
            assert len(load_dataset(path)) == 4
