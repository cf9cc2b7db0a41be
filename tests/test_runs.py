"""What the folder of a run remembers."""

from __future__ import annotations

import sys

import pytest

from diffgan.runs import environment


@pytest.mark.parametrize("program", ["/usr/bin/diffgan", "/lib/python/diffgan/__main__.py"])
def test_the_command_is_told_as_one_would_give_it_again(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [program, "demo", "--out", "runs/demo"])
    assert environment()["command"] == ["diffgan", "demo", "--out", "runs/demo"]
