"""Locks on files."""

from __future__ import annotations

from pathlib import Path

from diffgan.locks import is_locked, locked, try_lock, unlock


def test_a_lock_is_held_until_it_is_freed(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    with locked(path):
        assert is_locked(path)
    assert not is_locked(path)


def test_only_one_takes_it_and_what_the_file_says_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    with path.open("a+b") as one, path.open("a+b") as other:
        assert try_lock(one)
        one.write(b"me\n")
        one.flush()
        assert not try_lock(other)
        assert path.read_bytes() == b"me\n"
        unlock(one)
        assert try_lock(other)
