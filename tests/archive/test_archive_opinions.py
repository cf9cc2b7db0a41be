"""Verdicts of filters, and labels by annotators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffgan.archive import Archive, TriggerBatch
from diffgan.errors import DataError
from diffgan.images import ImageSpec, image_ids

MakeBatch = Callable[..., TriggerBatch]


def ids_of(batch: TriggerBatch) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return image_ids(batch.images)


def test_verdicts_come_back_and_are_replaced(archive: Archive, make_batch: MakeBatch) -> None:
    batch = make_batch(0, 4)
    archive.add(batch)
    ids = ids_of(batch)
    archive.verdicts.write(
        "ssim",
        ids[[2, 0]],
        passed=np.array([True, False]),
        scores=np.array([0.9, np.nan]),
        reasons=["", "no neighbour"],
    )
    found = archive.verdicts.read("ssim")
    assert found.ids.tolist() == ids[[0, 2]].tolist()
    assert found.passed.tolist() == [False, True]
    assert np.isnan(found.scores[0])
    assert found.scores[1] == 0.9
    assert found.reasons == ("no neighbour", "")
    archive.verdicts.write("ssim", ids[:1], passed=np.array([True]), scores=np.array([0.5]))
    found = archive.verdicts.read("ssim")
    assert found.passed.tolist() == [True, True]
    assert found.scores.tolist() == [0.5, 0.9]
    assert found.reasons == ("", "")
    assert archive.verdicts.counts() == {"ssim": (2, 0)}
    assert len(archive.verdicts.read("other").ids) == 0


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["d", "s", "x"]), st.integers(0, 9), st.booleans()), max_size=40))
def test_kept_means_no_failed_verdict(
    tmp_path_factory: pytest.TempPathFactory, make_batch: MakeBatch, verdicts: list[tuple[str, int, bool]]
) -> None:
    batch = make_batch(0, 10)
    ids = ids_of(batch)
    path = tmp_path_factory.mktemp("archive") / "archive.db"
    last: dict[tuple[str, int], bool] = {}
    with Archive.create(path, ImageSpec(1, 4, 4)) as archive:
        archive.add(batch)
        for name, row, passed in verdicts:
            archive.verdicts.write(name, ids[[row]], passed=np.array([passed]))
            last[name, row] = passed
        kept = [not any(row == r and not passed for (_, r), passed in last.items()) for row in range(10)]
        assert archive.column("kept").tolist() == kept
        assert archive.count(kept_only=True) == sum(kept)
        assert archive.column("evaluation", kept_only=True).tolist() == [2 * row for row in range(10) if kept[row]]
        assert sum(archive.disagreement(kept_only=True).values()) == sum(kept)
        unjudged = [row for row in range(10) if ("d", row) not in last]
        found = [int(e) // 2 for part in archive.batches(size=3, unjudged_by="d") for e in part.evaluation]
        assert found == unjudged
        archive.verdicts.forget("d")
        assert "d" not in archive.verdicts.counts()


def test_opinions_on_unknown_triggers_are_refused_as_a_whole(archive: Archive, make_batch: MakeBatch) -> None:
    batch = make_batch(0, 2)
    archive.add(batch)
    ids = np.append(ids_of(batch), 5)
    with pytest.raises(DataError, match="Verdicts of ssim name the trigger 0000000000000005"):
        archive.verdicts.write("ssim", ids, passed=np.ones(3, dtype=bool))
    with pytest.raises(DataError, match="Labels by ann name the trigger 0000000000000005"):
        archive.labels.write("ann", ids, [0, 1, 2])
    with pytest.raises(DataError, match="2 triggers came with 3 outcomes"):
        archive.verdicts.write("ssim", ids[:2], passed=np.ones(3, dtype=bool))
    with pytest.raises(DataError, match="2 triggers came with 1 classes"):
        archive.labels.write("ann", ids[:2], [0])
    assert archive.verdicts.counts() == {}
    assert archive.labels.counts() == {}


def test_labels_come_back_with_annotator_and_time(archive: Archive, make_batch: MakeBatch) -> None:
    batch = make_batch(0, 3)
    archive.add(batch)
    ids = ids_of(batch)
    assert archive.labels.write("bob", ids[[2, 1]], [1, None], times=[20.0, 21.5]) == 2
    assert archive.labels.write("ann", ids[[2]], list(np.array([0])), times=[3.0]) == 1
    found = archive.labels.read()
    assert found.ids.tolist() == ids[[1, 2, 2]].tolist()
    assert found.annotators == ("bob", "ann", "bob")
    assert found.classes == (None, 0, 1)
    assert found.times.tolist() == [21.5, 3.0, 20.0]
    assert len(archive.labels.read("ann")) == 1
    assert archive.labels.counts() == {"ann": 1, "bob": 2}


def test_a_label_is_replaced_kept_or_taken_back(archive: Archive, make_batch: MakeBatch) -> None:
    batch = make_batch(0, 2)
    archive.add(batch)
    ids = ids_of(batch)
    archive.labels.write("ann", ids[:1], [0])
    assert archive.labels.write("ann", ids, [1, 2], replace=False) == 1
    assert archive.labels.read().classes == (0, 2)
    assert archive.labels.write("ann", ids, [1, None]) == 2
    assert archive.labels.read().classes == (1, None)
    archive.labels.remove("ann", ids[:1])
    archive.labels.remove("bob", ids)
    assert archive.labels.read().classes == (None,)


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_outside_the_classes_is_refused(archive: Archive, make_batch: MakeBatch, label: int) -> None:
    batch = make_batch(0, 1)
    archive.add(batch)
    with pytest.raises(DataError, match=f"class {label}; expected 0 to 2"):
        archive.labels.write("ann", ids_of(batch), [label])
