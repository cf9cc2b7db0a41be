"""Data from the user's own .npz; its zip members are checked before any memory is taken for them."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from diffgan.datasets.dataset import Dataset
from diffgan.errors import DataError

_REQUIRED, _OPTIONAL = ("images", "labels"), ("classes",)
_ZIP_MAGICS, _NPY_MAGIC = (b"PK\x03\x04", b"PK\x05\x06"), b"\x93NUMPY"
#: Pictures seldom deflate by more than ten times. This much is always unpacked; beyond it, so many times the file.
_FREE_BYTES, _LARGEST_RATIO = 2**30, 100


def read_npz(path: Path) -> Dataset:
    """An .npz with `images` (uint8, N x H x W x C or N x H x W) and `labels`; `classes` (names) if it has them.

    Raises:
        DataError: it is no such file.
    """
    arrays = _arrays(path)
    names = tuple(_name(entry) for entry in arrays["classes"].ravel().tolist()) if "classes" in arrays else None
    return Dataset.checked(str(path), arrays["images"], arrays["labels"], classes=names)


def _name(entry: object) -> str:
    return entry.decode("utf-8", "backslashreplace") if isinstance(entry, bytes) else str(entry)


def _arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        _check_magic(path)
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, path)
            _check_members(members, path)
            return {key: _array(archive, member, f"{path} ({key})") for key, member in members.items()}
    except DataError:
        raise
    except MemoryError as error:
        raise DataError(f"{path} does not fit into memory: save fewer images in one file.") from error
    except Exception as error:  # A damaged zip or header raises nearly anything.
        reason = str(error) or type(error).__name__
        raise DataError(f"{path} is no complete .npz file ({reason}): save or copy it again.") from error


def _check_magic(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(len(_NPY_MAGIC))
    if not start:
        raise DataError(f"{path} is empty, so no complete .npz file: save or copy it again.")
    if start == _NPY_MAGIC:
        raise DataError(
            f"{path} holds a single array (it is an .npy, whatever its name); expected an .npz with images and "
            "labels: save it with numpy.savez(path, images=..., labels=...)."
        )
    if not start.startswith(_ZIP_MAGICS):
        raise DataError(
            f"{path} is no .npz file (it does not begin as a zip archive): save it with "
            "numpy.savez(path, images=..., labels=...)."
        )


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    there = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    missing = [key for key in _REQUIRED if key not in there]
    if missing:
        known = sorted(there)
        listed = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "") or "nothing"
        raise DataError(
            f"{path} has no {' and no '.join(missing)} (it holds {listed}): save it with "
            "numpy.savez(path, images=..., labels=...)."
        )
    return {key: there[key] for key in (*_REQUIRED, *_OPTIONAL) if key in there}


def _check_members(members: dict[str, zipfile.ZipInfo], path: Path) -> None:
    for key, member in members.items():
        if member.flag_bits & 0x1:
            raise DataError(f"{path} is encrypted ({key}); expected a plain .npz: save it without a password.")
        # zipfile unpacks bzip2 and LZMA without a bound, and numpy never writes them.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(
                f"{path} is compressed by method {member.compress_type} ({key}); expected none or deflate: "
                "save it with numpy.savez or numpy.savez_compressed."
            )
    unpacked, packed = sum(member.file_size for member in members.values()), path.stat().st_size
    if unpacked > max(_FREE_BYTES, _LARGEST_RATIO * packed):
        raise DataError(
            f"{path} would unpack to {unpacked:,} bytes from {packed:,}; expected at most {_LARGEST_RATIO} times its "
            f"size (or {_FREE_BYTES:,}): if it is meant so, save it uncompressed with numpy.savez."
        )


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, title: str) -> NDArray[np.generic]:
    _check_header(archive, member, title)
    with archive.open(member) as stream:
        array: NDArray[np.generic] = npy.read_array(stream, allow_pickle=False)
        return array


def _check_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo, title: str) -> None:
    """What the array's header claims is what the member holds; numpy would believe it and allocate."""
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        # Version 3 exists for the field names of structured arrays, which fit nothing here.
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read is None:
            raise DataError(f"{title} has an array of format {version}; expected 1.0 or 2.0: save a plain array.")
        shape, _, dtype = read(stream)
        held = member.file_size - stream.tell()
    if dtype.hasobject:
        raise DataError(
            f"{title} holds pickled objects, which could run code: save a plain array of numbers or, for names, "
            "numpy.array(names, dtype=str)."
        )
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or claimed != held:
        raise DataError(
            f"{title} is no complete array (shape {shape} of {dtype} is {claimed:,} bytes, but {held:,} are there): "
            "save or copy it again."
        )
