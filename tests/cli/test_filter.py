"""`diffgan filter` as a user runs it, on digits and noise: verdicts, thresholds, labels, and one line for a mistake."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from diffgan.archive import Archive, TriggerBatch
from diffgan.cli.main import main
from diffgan.datasets import load_dataset
from diffgan.images import ByteImages, hex_id
from diffgan.runs import RunFolder

EACH = 60


def archived(folder: RunFolder, images: ByteImages) -> None:
    data = load_dataset("digits:test")
    count = len(images)
    numbers = np.arange(count)
    outputs = np.tile(np.eye(10, dtype=np.float32)[:1], (count, 1))
    with Archive.create(folder.archive, data.spec, data.classes) as archive:
        if count:
            archive.add(
                TriggerBatch(
                    images=images,
                    outputs_a=outputs,
                    outputs_b=outputs[:, ::-1].copy(),
                    label_a=numbers * 0,
                    label_b=numbers * 0 + 9,
                    divergence=numbers / 7,
                    evaluation=numbers + 1,
                    generation=numbers * 0 + 1,
                    seconds=numbers / 100,
                    queries_a=numbers + 1,
                    queries_b=numbers + 1,
                )
            )


def new_run(path: Path, images: ByteImages) -> Path:
    data = load_dataset("digits:test")
    folder = RunFolder.create(path, {"data": {"name": data.name, "fingerprint": data.fingerprint}, "models": {}})
    archived(folder, images)
    folder.write_summary({"kept": len(images)})
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Digits that no filter was trained on, then noise."""
    noise = np.random.default_rng(0).integers(0, 256, (EACH, 8, 8, 1), dtype=np.uint8)
    return new_run(tmp_path / "run", np.concatenate([load_dataset("digits:judge").images[:EACH], noise]))


def filtered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["diffgan", "filter", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out + said.err


def kept(run: Path) -> np.ndarray:
    with Archive.open(run / "archive.db", read_only=True) as archive:
        return np.asarray(archive.column("kept"))


def test_digits_pass_and_noise_does_not(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = filtered(monkeypatch, capsys, run)
    assert code == 0, said
    assert "recognisable" in said
    assert "ssim" in said
    assert kept(run)[:EACH].mean() > 0.75
    assert kept(run)[EACH:].mean() < 0.1
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert summary["kept"] == kept(run).sum()
    assert list(summary["filters"]) == ["recognisable", "ssim"]


def test_a_threshold_applies_and_stays(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = filtered(monkeypatch, capsys, run, "--threshold", "ssim=1", "--threshold", "recognisable=0")
    assert code == 0, said
    assert not kept(run).any()
    assert "Nothing passes ssim, whose threshold is 1. --threshold ssim=" in said
    filtered(monkeypatch, capsys, run)
    assert not kept(run).any()
    filtered(monkeypatch, capsys, run, "--threshold", "ssim=-1")
    assert kept(run).all()


def test_a_threshold_kept_of_a_filter_that_is_gone_is_no_mistake(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "thresholds.json").write_text('{"discriminator": 3.0, "ssim": -1}', encoding="utf-8")
    code, said = filtered(monkeypatch, capsys, run, "--threshold", "recognisable=0")
    assert code == 0, said
    assert kept(run).all()


def test_labels_set_thresholds(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = filtered(monkeypatch, capsys, run, "--calibrate")
    assert code == 0
    assert "No trigger is labelled: the defaults apply." in said
    with Archive.open(run / "archive.db") as archive:
        ids = archive.column("ids")
        archive.labels.write("ann", ids, [3] * EACH + [None] * EACH)
        assert hex_id(ids[0])
    code, said = filtered(monkeypatch, capsys, run, "--calibrate", "--target", "youden")
    assert code == 0, said
    assert "area under the curve" in said
    assert kept(run)[:EACH].mean() > 0.8
    assert kept(run)[EACH:].mean() < 0.1
    assert (run / "thresholds.json").is_file()


def test_what_labels_set_does_not_hang_on_thresholds_before(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Archive.open(run / "archive.db") as archive:
        archive.labels.write("ann", archive.column("ids"), [3] * EACH + [None] * EACH)
    made = []
    for before in ("recognisable=1.1", "recognisable=-1", "ssim=0.9"):
        filtered(monkeypatch, capsys, run, "--threshold", before)
        code, said = filtered(monkeypatch, capsys, run, "--calibrate", "--target", "youden")
        assert code == 0, said
        made.append(((run / "thresholds.json").read_text(), kept(run).tolist()))
    assert made[0] == made[1] == made[2]


def test_an_empty_archive_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = new_run(tmp_path / "run", np.empty((0, 8, 8, 1), dtype=np.uint8))
    code, said = filtered(monkeypatch, capsys, run)
    assert code == 0
    assert "The archive is empty" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--threshold", "sim=0.4"), "There is no filter 'sim' in this chain"),
        (("--threshold", "ssim=high"), "expected a number"),
        (("--threshold", "ssim=3"), "expected -1 to 1"),
        (("--target", "best", "--calibrate"), "expected precision:SHARE"),
        (("--target", "youden"), "--calibrate"),
        (("--discriminator", "nowhere"), "nowhere"),
    ],
)
def test_a_mistake_is_one_line(
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    code, said = filtered(monkeypatch, capsys, run, *arguments)
    assert code == 2
    assert message in said
    assert len(said.strip().splitlines()) == 1


def test_references_of_another_size_are_refused(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "big.npz", images=np.zeros((20, 9, 9, 1), dtype=np.uint8), labels=np.zeros(20, dtype=np.int64))
    code, said = filtered(monkeypatch, capsys, run, "--references", tmp_path / "big.npz")
    assert code == 2
    assert "give references of that size" in said


def test_a_folder_without_a_run_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = filtered(monkeypatch, capsys, tmp_path)
    assert code == 2
    assert "holds no archive.db" in said
