"""docs/benchmarks/second_judge.py: a judge and two pairs that no search sees."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from diffgan.datasets import load_dataset
from diffgan.features.judge import Judge
from diffgan.models import load_classifier

SCRIPT = Path(__file__).parents[2] / "docs" / "benchmarks" / "second_judge.py"
NAMES = {"judge0", "judge1", "architecture_a", "architecture_b", "augmentation_a", "augmentation_b"}


def digits_like(path: Path) -> Path:
    """Ten kinds of image, told apart by where they are bright."""
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 10
    images = rng.integers(0, 60, (400, 28, 28, 1), dtype=np.uint8)
    for place, label in enumerate(labels):
        row, column = divmod(int(label), 4)
        images[place, 2 + 8 * row : 9 + 8 * row, 7 * column : 7 + 7 * column] += 180
    np.savez(path, images=images, labels=labels)
    return path


@pytest.mark.slow
def test_it_trains_what_is_missing_and_a_bench_can_open_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = digits_like(tmp_path / "data.npz"), tmp_path / "second"
    call = [str(SCRIPT), "--train", str(data), "--test", str(data), "--out", str(out), "--share", "3"]
    monkeypatch.setattr(sys, "argv", call)
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert {path.stem for path in out.glob("*.pt2")} == NAMES
    assert capsys.readouterr().out.count("the two disagree on") == 2

    dataset = load_dataset(str(data))
    judges = [
        load_classifier(out / f"judge{place}.pt2", spec=dataset.spec, options={"features_name": "features"})
        for place in range(2)
    ]
    verdicts = Judge.calibrate(judges, dataset.images).verdicts(dataset.images)
    assert (verdicts.label == dataset.labels).mean() > 0.8

    kept = {path.name: path.read_bytes() for path in out.glob("*.pt2")}
    (out / "augmentation_b.pt2").unlink()
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert {path.stem for path in out.glob("*.pt2")} == NAMES
    assert all((out / name).read_bytes() == data for name, data in kept.items() if name != "augmentation_b.pt2")
