"""Which labelled triggers a selector learns from, by hand on one-by-two images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from diffgan.archive import Archive, TriggerBatch
from diffgan.errors import DataError, UsageError
from diffgan.images import ImageSpec, image_ids
from diffgan.selection.examples import Counts, check_enough, read_examples

#: A says 0 and B says 1; of three classes.
A, B = np.array([[0.5, 0.4, 0.1], [0.3, 0.6, 0.1]], dtype=np.float32)
Said = Mapping[int, int | None]


def new_run(
    path: Path, pixels: Sequence[int], said: Mapping[str, Said], *, classes: bool = True, kind: tuple[int, int] = (0, 1)
) -> Path:
    """Triggers by their first pixel, and labels by annotator and pixel."""
    path.mkdir()
    count = len(pixels)
    numbers = np.arange(count)
    images = np.array([(pixel, 9) for pixel in pixels], dtype=np.uint8).reshape(-1, 1, 2, 1)
    batch = TriggerBatch(
        images=images,
        outputs_a=np.tile(A, (count, 1)),
        outputs_b=np.tile(B, (count, 1)),
        label_a=np.full(count, kind[0]) if classes else None,
        label_b=np.full(count, kind[1]) if classes else None,
        divergence=numbers / 7,
        evaluation=numbers,
        generation=numbers,
        seconds=numbers / 100,
        queries_a=numbers,
        queries_b=numbers,
    )
    with Archive.create(path / "archive.db", ImageSpec(1, 1, 2), ("x", "y", "z")) as archive:
        archive.add(batch)
        ids = dict(zip(pixels, image_ids(images).tolist(), strict=True))
        for annotator, labels in said.items():
            wanted = np.array([ids[pixel] for pixel in labels], dtype=np.int64)
            archive.labels.write(annotator, wanted, list(labels.values()))
    return path


def test_each_kind_is_counted(tmp_path: Path) -> None:
    ann = {1: 0, 2: 1, 3: 1, 4: 2, 5: None, 6: 0, 7: 1}
    bo: Said = {6: 1, 7: 1}
    judge: Said = {7: 0, 8: 0}
    run = new_run(tmp_path / "run", range(10), {"ann": ann, "bo": bo, "judge:m": judge})
    found = read_examples([run])
    # 1: A. 2, 3: B. 4: both wrong. 5: invalid. 6: a conflict. 7: people say B, so the judge does not count. 8: A, by a
    # judge.
    assert found.counts == Counts(
        labelled=8, by_machine=1, conflicts=1, invalid=1, not_drawn=0, both_wrong=1, only_a=2, only_b=3
    )
    by_pixel = dict(zip(found.images[:, 0, 0, 0].tolist(), found.b_is_right.tolist(), strict=True))
    assert by_pixel == {1: False, 2: True, 3: True, 7: True, 8: False}
    # The mean of both says 1, as B does.
    assert np.array_equal(found.mean_is_right, found.b_is_right)


def test_a_limit_draws_from_the_valid_by_the_seed(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", range(100), {"ann": {pixel: pixel % 2 for pixel in range(80)}})
    first, same, other = (read_examples([run], limit=30, seed=seed) for seed in (1, 1, 2))
    assert (len(first), first.counts.not_drawn) == (30, 50)
    assert np.array_equal(first.ids, same.ids)
    assert not np.array_equal(first.ids, other.ids)
    assert first.counts.only_a + first.counts.only_b == 30


def test_a_limit_draws_in_turn_of_the_kinds_of_all_runs(tmp_path: Path) -> None:
    many = new_run(tmp_path / "many", range(60), {"ann": dict.fromkeys(range(60), 0)})
    few = new_run(tmp_path / "few", range(100, 103), {"ann": dict.fromkeys(range(100, 103), 1)}, kind=(1, 0))
    found = read_examples([many, few], limit=6)
    assert (found.images[:, 0, 0, 0] >= 100).sum() == 3
    assert sorted(read_examples([few, many], limit=6).ids.tolist()) == sorted(found.ids.tolist())


def test_two_runs_count_an_image_once_and_conflict_over_it(tmp_path: Path) -> None:
    first = new_run(tmp_path / "a", [1, 2, 3], {"ann": {1: 0, 2: 1, 3: 1}})
    second = new_run(tmp_path / "b", [2, 3, 4], {"bo": {2: 1, 3: 0, 4: 0}})
    found = read_examples([first, second])
    assert found.images[:, 0, 0, 0].tolist() != []
    assert sorted(found.images[:, 0, 0, 0].tolist()) == [1, 2, 4]
    assert (found.counts.labelled, found.counts.conflicts) == (4, 1)
    backwards = read_examples([second, first])
    assert sorted(backwards.ids.tolist()) == sorted(found.ids.tolist())


def test_without_labels_it_says_how_to_label(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", [1, 2], {})
    with pytest.raises(UsageError, match=r"Nothing in .*run is labelled: .*diffgan label"):
        read_examples([run])


def test_outputs_that_are_no_classes_are_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", [1, 2], {"ann": {1: 0}}, classes=False)
    with pytest.raises(UsageError, match="no classes"):
        read_examples([run])


def test_runs_on_other_images_are_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", [1], {"ann": {1: 0}})
    (tmp_path / "other").mkdir()
    Archive.create(tmp_path / "other" / "archive.db", ImageSpec(3, 1, 2), ("x", "y", "z")).close()
    with pytest.raises(DataError, match="differ in the size"):
        read_examples([run, tmp_path / "other"])


def test_a_run_that_is_written_to_is_read(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", [1, 2], {"ann": {1: 0, 2: 1}})
    with Archive.open(run / "archive.db") as busy:
        busy._connection.execute("BEGIN IMMEDIATE")
        assert len(read_examples([run])) == 2


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            {1: None, 2: 2, 3: None},
            "Of 3 labelled triggers there is none on which .*2 invalid, 1 both wrong.*Most show nothing",
        ),
        ({1: 0, 2: 0, 3: 0}, "upper is right on all 3 .* at least 10 on which lower is right"),
        ({1: 1, 2: 1}, "lower is right on all 2 .* upper"),
        (dict.fromkeys(range(18), 0) | {18: 1, 19: 1}, "at least 10 of each are needed: label about 80 more"),
    ],
)
def test_too_few_is_told_with_how_many_it_takes(tmp_path: Path, labels: Said, said: str) -> None:
    run = new_run(tmp_path / "run", range(30), {"ann": labels})
    with pytest.raises(UsageError, match=said):
        check_enough(read_examples([run]), fewest=10, names=("upper", "lower"))
