"""Zip files of strangers, read once and within bounds: what is looked at is what a runtime gets."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from diffgan.errors import ModelError, UnsafeFileError

_ALWAYS_FINE = 256 * 2**20
_LARGEST_RATIO = 8
_READABLE = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


def read_members(path: Path, *, kind: str, how: str) -> dict[str, bytes]:
    """All members of a model file's zip, by their names below its top folder.

    Args:
        path: the file.
        kind: what it should be, for the errors.
        how: how to make a better one, for the errors.

    Raises:
        UnsafeFileError: two members share a name, so that two readers may see different ones.
        ModelError: it is no complete zip, or would unpack to far more than its own size.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _check_names(path, entries, how)
            _check_sizes(path, entries, how)
            return {_short(entry): archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise ModelError(f"{path} is no complete {kind} file ({error}): copy or export it again.") from error


def rebuilt(members: dict[str, bytes]) -> io.BytesIO:
    """A plain, uncompressed zip of these members under one top folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(f"model/{name}", data)
    buffer.seek(0)
    return buffer


def _short(entry: zipfile.ZipInfo) -> str:
    return entry.filename.partition("/")[2]


def _check_names(path: Path, entries: list[zipfile.ZipInfo], how: str) -> None:
    names = [_short(entry).lower() for entry in entries]
    if len(set(names)) != len(names):
        raise UnsafeFileError(f"{path} has two members of one name, so readers may see different ones: {how}.")


def _check_sizes(path: Path, entries: list[zipfile.ZipInfo], how: str) -> None:
    if any(entry.compress_type not in _READABLE for entry in entries):
        raise ModelError(f"{path} is packed by a method that torch does not read: {how}.")
    size, limit = sum(entry.file_size for entry in entries), max(_ALWAYS_FINE, _LARGEST_RATIO * path.stat().st_size)
    if size > limit:
        raise ModelError(
            f"{path} would unpack to {size:,} bytes, more than the {limit:,} that a file of its size may: {how}."
        )
