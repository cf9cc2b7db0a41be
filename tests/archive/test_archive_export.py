"""Exports hold what the archive holds, in forms that others read, whole or not at all."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from PIL import Image

from diffgan.archive import Archive, StoredTriggers, TriggerBatch
from diffgan.archive.export import FORMS, export
from diffgan.archive.export.names import safe_names, without_formula
from diffgan.archive.export.png import encode_png
from diffgan.errors import ArchiveError, MissingExtraError, UsageError
from diffgan.images import ImageSpec, image_ids

MakeBatch = Callable[..., TriggerBatch]


@pytest.fixture
def filled(archive: Archive, make_batch: MakeBatch) -> Archive:
    """Triggers 0 to 29, of which every fourth is rejected, with a label or two."""
    archive.add(make_batch(0, 10))
    archive.add(make_batch(10, 20))
    ids = archive.column("ids")
    archive.verdicts.write(
        "ssim",
        ids,
        passed=np.arange(30) % 4 != 0,
        scores=np.arange(30) / 8,
        reasons=["=no()" if row % 4 == 0 else "" for row in range(30)],
    )
    archive.labels.write("ann", ids[:2], [2, None])
    return archive


def everything(archive: Archive, *, kept_only: bool = False) -> StoredTriggers:
    (found,) = archive.batches(kept_only=kept_only, size=10_000)
    return found


def read_table(folder: Path) -> list[dict[str, str]]:
    with (folder / "triggers.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_parquet(path: Path, cache: Path) -> Any:
    return datasets.load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(cache))


@pytest.mark.parametrize("kept_only", [False, True])
def test_npz_holds_the_fields_of_the_design(filled: Archive, tmp_path: Path, kept_only: bool) -> None:
    export(filled, tmp_path / "out.npz", "npz", kept_only=kept_only)
    expected = everything(filled, kept_only=kept_only)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as npz:
        assert set(npz) == {
            *("id", "images", "label_a", "label_b", "prob_a", "prob_b", "kept"),
            *("latents", "classes", "seconds", "evaluation"),
        }
        assert npz["id"].tolist() == expected.hex_ids
        assert npz["id"].dtype == np.dtype("<U16")
        assert npz["images"].dtype == np.uint8
        columns = {"prob_a": "outputs_a", "prob_b": "outputs_b"}
        for name in set(npz) - {"id"}:
            assert_array_equal(npz[name], getattr(expected, columns.get(name, name)), strict=True)
    assert expected.kept.all() == kept_only


def test_npz_leaves_out_latents_and_classes_where_there_are_none(
    archive: Archive, make_batch: MakeBatch, tmp_path: Path
) -> None:
    archive.add(make_batch(0, 3, latents=False, labels=False))
    export(archive, tmp_path / "out.npz", "npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as npz:
        assert not {"latents", "classes"} & set(npz)
        assert npz["label_a"].tolist() == [-1, -1, -1]


def test_imagefolder_has_a_folder_per_disagreement(filled: Archive, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    export(filled, folder, "imagefolder")
    expected = everything(filled)
    assert {path.name for path in folder.iterdir()} == {"zero-as-one", "one-as-two", "two-as-zero", "triggers.csv"}
    rows = read_table(folder)
    assert [row["id"] for row in rows] == expected.hex_ids
    assert len(list(folder.glob("*/*.png"))) == 30
    assert rows[4]["file"] == f"one-as-two/{expected.hex_ids[4]}_1_2.png"
    for place, row in enumerate(rows):
        picture = np.asarray(Image.open(folder / row["file"]))
        assert_array_equal(picture, expected.images[place, ..., 0])
        assert float(row["divergence"]) == expected.divergence[place]
        assert (row["kept"], row["ssim passed"]) == (("0", "0") if place % 4 == 0 else ("1", "1"))
        assert float(row["ssim score"]) == place / 8
    assert rows[0]["ssim reason"] == "'=no()"
    assert [row["label by ann"] for row in rows[:3]] == ["2", "invalid", ""]
    assert (rows[1]["name_a"], rows[1]["label_a"], rows[1]["class"], rows[1]["parent"]) == ("one", "1", "1", "")


def test_imagefolder_of_the_kept(filled: Archive, tmp_path: Path) -> None:
    export(filled, tmp_path / "out", "imagefolder", kept_only=True)
    assert len(read_table(tmp_path / "out")) == filled.count(kept_only=True) == 22
    assert len(list((tmp_path / "out").glob("*/*.png"))) == 22


def test_imagefolder_of_a_task_without_labels(archive: Archive, make_batch: MakeBatch, tmp_path: Path) -> None:
    archive.add(make_batch(0, 3, labels=False))
    export(archive, tmp_path / "out", "imagefolder")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["triggers", "triggers.csv"]
    assert len(list((tmp_path / "out" / "triggers").iterdir())) == 3


HOSTILE = ["../../../etc/passwd", "=cmd|' /C calc'!A0", "", "猫/\x00\n", "猫", "x" * 5000, "\ud800", "CON", "con", "."]


@pytest.mark.parametrize("form", FORMS)
def test_hostile_class_names_do_no_harm(make_batch: MakeBatch, tmp_path: Path, form: str) -> None:
    out = tmp_path / "deep" / "out"
    out.parent.mkdir()
    numbers = np.arange(12)
    batch = dataclasses.replace(make_batch(0, 12), label_a=numbers, label_b=(numbers + 1) % 12)
    with Archive.create(tmp_path / "archive.db", ImageSpec(1, 4, 4), HOSTILE) as archive:
        archive.add(batch)
        export(archive, out, form)
    assert sorted(path.name for path in tmp_path.rglob("*") if out not in path.parents) == ["archive.db", "deep", "out"]
    if form == "imagefolder":
        assert len([path for path in out.iterdir() if path.is_dir()]) == 12
        assert len(list(out.glob("*/*.png"))) == 12
        rows = read_table(out)
        assert rows[1]["name_a"] == "'" + HOSTILE[1]
        assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row.values())
    if form == "parquet":
        found = read_parquet(out, tmp_path / "cache")
        assert found["label_a"] == list(range(12))
        assert len(set(found.features["label_a"].names)) == 12


@given(st.lists(st.text(max_size=80), max_size=8), st.integers(0, 10))
def test_safe_names_are_safe_and_differ(names: list[str], more: int) -> None:
    safe = safe_names(names, len(names) + more)
    assert len({name.casefold() for name in safe}) == len(safe) == len(names) + more
    for name in safe:
        assert name.strip(".")
        assert not set(name) & set('/\\:*?"<>|- \0\n')
        assert len(name.encode()) <= 75
        assert not name.startswith(".")


@given(st.text())
def test_no_cell_begins_a_formula(text: str) -> None:
    guarded = without_formula(text)
    assert guarded.endswith(text)
    assert not guarded.lstrip().startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("channels", [1, 3])
def test_png_keeps_every_pixel(channels: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    picture = np.asarray(Image.open(io.BytesIO(encode_png(image)))).reshape(image.shape)
    assert_array_equal(picture, image)


@pytest.mark.parametrize("kept_only", [False, True])
def test_parquet_opens_as_a_dataset_with_images(filled: Archive, tmp_path: Path, kept_only: bool) -> None:
    export(filled, tmp_path / "out.parquet", "parquet", kept_only=kept_only)
    expected = everything(filled, kept_only=kept_only)
    found = read_parquet(tmp_path / "out.parquet", tmp_path / "cache")
    assert isinstance(found.features["image"], datasets.Image)
    assert found.features["label_a"].names == ["zero", "one", "two"]
    assert list(found["id"]) == expected.hex_ids
    pictures = np.stack([np.asarray(picture) for picture in found["image"]])
    assert_array_equal(pictures[..., None], expected.images)
    assert_array_equal(found["prob_a"], expected.outputs_a)
    assert_array_equal(found["latents"], expected.latents)
    for name in ("label_a", "label_b", "divergence", "evaluation", "seconds", "kept", "classes", "queries_b"):
        assert_array_equal(found[name], getattr(expected, name), err_msg=name)
    assert list(found["parent"]) == [None] * len(expected)


def test_parquet_of_other_tasks_and_partial_columns(archive: Archive, make_batch: MakeBatch, tmp_path: Path) -> None:
    outputs = np.random.default_rng(0).random((3, 2, 4, 5), dtype=np.float32)
    plain = make_batch(0, 3, labels=False, latents=False)
    archive.add(dataclasses.replace(plain, outputs_a=outputs, parent=np.array([0, -1, 5])))
    archive.add(dataclasses.replace(make_batch(3, 3, labels=False), outputs_a=outputs))
    export(archive, tmp_path / "out.parquet", "parquet")
    found = read_parquet(tmp_path / "out.parquet", tmp_path / "cache")
    assert_array_equal(found["prob_a"], np.concatenate([outputs, outputs]))
    assert list(found["latents"])[:3] == [None] * 3
    assert list(found["classes"]) == [None] * 3 + [0, 1, 2]
    assert list(found["label_a"]) == [None] * 6
    assert list(found["parent"])[:3] == [None, -1, 5]


def test_parquet_without_pyarrow_names_the_extra(
    filled: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'diffgan\[parquet\]'"):
        export(filled, tmp_path / "out.parquet", "parquet")
    assert not list(tmp_path.glob("*out.parquet*"))


def test_parquet_is_written_in_row_groups(archive: Archive, make_batch: MakeBatch, tmp_path: Path) -> None:
    archive.add(make_batch(0, 5000))
    export(archive, tmp_path / "out.parquet", "parquet")
    file = pq.ParquetFile(tmp_path / "out.parquet")
    assert file.metadata.num_rows == 5000
    assert file.metadata.num_row_groups > 1


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_archive_gives_an_empty_export(archive: Archive, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    export(archive, out, form)
    if form == "npz":
        with np.load(out, allow_pickle=False) as npz:
            assert npz["images"].shape == (0, 4, 4, 1)
            assert npz["prob_a"].shape == (0, 0)
            assert len(npz["id"]) == len(npz["kept"]) == 0
    elif form == "imagefolder":
        assert read_table(out) == []
    else:
        assert pq.read_table(out).num_rows == 0
        assert json.loads(pq.read_schema(out).metadata[b"huggingface"])["info"]["features"]["image"]


@pytest.mark.parametrize("form", FORMS)
def test_progress_is_told_to_the_end(filled: Archive, tmp_path: Path, form: str) -> None:
    told: list[tuple[int, int]] = []
    export(filled, tmp_path / "out", form, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 0


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_overwritten(filled: Archive, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    out.write_text("precious")
    with pytest.raises(ArchiveError, match="exists already"):
        export(filled, out, form)
    assert out.read_text() == "precious"
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ArchiveError, match="exists already"):
        export(filled, tmp_path / "dangling", form)


@pytest.mark.parametrize("form", FORMS)
def test_what_comes_up_meanwhile_is_not_overwritten(filled: Archive, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"

    def come_up(*_: int) -> None:
        out.write_text("precious")

    with pytest.raises(ArchiveError, match="exists already"):
        export(filled, out, form, progress=come_up)
    assert out.read_text() == "precious"


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupted_export_leaves_nothing(filled: Archive, tmp_path: Path, form: str) -> None:
    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    before = set(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        export(filled, tmp_path / "out", form, progress=interrupt)
    assert set(tmp_path.iterdir()) == before
    export(filled, tmp_path / "out", form)


@pytest.mark.parametrize("form", FORMS)
def test_a_killed_export_leaves_nothing_at_the_destination(filled: Archive, tmp_path: Path, form: str) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from diffgan.archive import Archive\n"
        "from diffgan.archive.export import export\n"
        "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with Archive.open(Path(sys.argv[1]), read_only=True) as archive:\n"
        "    export(archive, Path(sys.argv[2]), sys.argv[3], progress=die)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(filled.path), str(tmp_path / "out"), form], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", FORMS)
def test_an_export_to_nowhere_is_one_line(filled: Archive, tmp_path: Path, form: str) -> None:
    with pytest.raises(ArchiveError, match="the folder does not exist"):
        export(filled, tmp_path / "no" / "out", form)
    with pytest.raises(ArchiveError, match=r"name is too long|exists already|Cannot write"):
        export(filled, tmp_path / ("x" * 300), form)


def test_an_unknown_form_names_the_known(filled: Archive, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no export form 'csv'; expected one of npz, imagefolder, parquet"):
        export(filled, tmp_path / "out", "csv")


def test_an_export_is_one_view_of_a_growing_archive(filled: Archive, make_batch: MakeBatch, tmp_path: Path) -> None:
    with Archive.open(filled.path, read_only=True) as reader:

        def write(done: int, _: int) -> None:
            filled.add(make_batch(1000 + done, 5))
            filled.verdicts.write("late", filled.column("ids"), passed=np.zeros(filled.count(), dtype=bool))

        export(reader, tmp_path / "out.npz", "npz", kept_only=True, progress=write)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as npz:
        assert {len(npz[name]) for name in npz} == {22}
        assert npz["kept"].all()


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_exports_stream(tmp_path: Path, make_batch: MakeBatch, form: str) -> None:
    """The memory does not grow with the archive."""
    with Archive.create(tmp_path / "archive.db", ImageSpec(1, 100, 100)) as archive:
        for start in range(0, 8000, 1000):
            archive.add(make_batch(start, 1000, size=100))
        tracemalloc.start()
        try:
            export(archive, tmp_path / "out", form)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 40_000_000 < 8000 * 100 * 100


def test_ids_in_an_export_come_from_its_images(filled: Archive, tmp_path: Path) -> None:
    export(filled, tmp_path / "out.npz", "npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as npz:
        assert [int(text, 16) for text in npz["id"]] == [int(i) % 2**64 for i in image_ids(npz["images"])]


def test_published_files_have_usual_permissions(filled: Archive, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    export(filled, tmp_path / "out.npz", "npz")
    assert os.stat(tmp_path / "out.npz").st_mode == plain.stat().st_mode  # noqa: PTH116 - as the system sees it
