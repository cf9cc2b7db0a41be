"""The chain: verdicts stand as scores, thresholds apply at once, a broken run goes on, and duplicates give way."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.archive import Archive, TriggerBatch
from diffgan.errors import ModelError, UsageError
from diffgan.filters import chain
from diffgan.filters.chain import PAGE, run_chain
from diffgan.filters.duplicates import DuplicateFilter, Order
from diffgan.filters.protocol import Candidates, Filter
from diffgan.images import ByteImages, ImageSpec

COUNT = PAGE + 100


@dataclass(frozen=True)
class Brightness:
    """A user's own validator: the mean pixel of the image."""

    threshold: float
    name: str = "brightness"
    identity: str = "mean"
    breaks_at: int = 10**9
    seen: list[int] = field(default_factory=list)

    def scores(self, candidates: Candidates) -> NDArray[np.float64]:
        if sum(self.seen) >= self.breaks_at:
            raise ModelError("it broke")
        self.seen.append(len(candidates))
        return np.asarray(candidates.images.reshape(len(candidates), -1).mean(axis=1))

    def reason(self, score: float) -> str:
        return f"{score:.0f} is dark"


def filled(path: Path, images: ByteImages | None = None) -> Archive:
    """By default, image i is i over 256 in its first pixel and i modulo 256 elsewhere: brightness comes in cycles."""
    if images is None:
        numbers = np.arange(COUNT)
        images = np.repeat((numbers % 256).astype(np.uint8), 16).reshape(COUNT, 4, 4, 1)
        images[:, 0, 0, 0] = numbers // 256
    count = len(images)
    numbers = np.arange(count)
    archive = Archive.create(path / "archive.db", ImageSpec(1, 4, 4), ("0", "1"))
    outputs = np.tile(np.array([[0.9, 0.1]], dtype=np.float32), (count, 1))
    archive.add(
        TriggerBatch(
            images=images,
            outputs_a=outputs,
            outputs_b=outputs[:, ::-1],
            label_a=numbers * 0,
            label_b=numbers * 0 + 1,
            divergence=numbers.astype(np.float64),
            evaluation=numbers + 1,
            generation=numbers * 0 + 1,
            seconds=numbers / 100,
            queries_a=numbers + 1,
            queries_b=numbers + 1,
        )
    )
    return archive


def brightness(archive: Archive) -> NDArray[np.float64]:
    return np.asarray(archive.column("images").reshape(COUNT, -1).mean(axis=1))


def test_verdicts_are_scores_against_a_threshold(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        (stage,) = run_chain(archive, [Brightness(100)], folder=tmp_path)
        right = brightness(archive) >= 100
        assert (stage.before, stage.passed) == (COUNT, right.sum())
        np.testing.assert_array_equal(archive.column("kept"), right)
        said = archive.verdicts.read("brightness")
        np.testing.assert_array_equal(said.scores, brightness(archive))
        assert said.reasons[0] == "0 is dark"
        assert said.reasons[200] == ""


def test_another_threshold_applies_without_scoring_again(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        run_chain(archive, [Brightness(100)], folder=tmp_path)
        other = Brightness(20)
        run_chain(archive, [other], folder=tmp_path)
        assert other.seen == []
        np.testing.assert_array_equal(archive.column("kept"), brightness(archive) >= 20)


def test_another_identity_scores_anew(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        run_chain(archive, [Brightness(100)], folder=tmp_path)
        other = Brightness(100, identity="other")
        run_chain(archive, [other], folder=tmp_path)
        assert sum(other.seen) == COUNT


def test_a_broken_run_goes_on(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        with pytest.raises(ModelError, match="broke"):
            run_chain(archive, [Brightness(100, breaks_at=1)], folder=tmp_path)
        assert len(archive.verdicts.read("brightness").ids) == PAGE
        rest = Brightness(100)
        run_chain(archive, [rest], folder=tmp_path)
        assert sum(rest.seen) == COUNT - PAGE
        np.testing.assert_array_equal(archive.column("kept"), brightness(archive) >= 100)


def test_a_later_filter_sees_what_passed_and_more_when_a_threshold_falls(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        second = Brightness(0, name="second")
        first, after = run_chain(archive, [Brightness(100), second], folder=tmp_path)
        assert sum(second.seen) == first.passed == after.before
        again = Brightness(0, name="second")
        run_chain(archive, [Brightness(20), again], folder=tmp_path)
        assert sum(again.seen) == np.sum((brightness(archive) >= 20) & (brightness(archive) < 100))


def test_a_first_filter_that_is_new_sees_what_a_later_one_rejected(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        run_chain(archive, [Brightness(200)], folder=tmp_path)
        new = Brightness(0, name="new")
        chain: list[Filter] = [new, Brightness(200)]
        stages = run_chain(archive, chain, folder=tmp_path)
        assert sum(new.seen) == COUNT
        assert stages[0].before == stages[1].before == COUNT


def test_a_filter_that_is_left_out_has_no_verdicts(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        run_chain(archive, [Brightness(200)], folder=tmp_path)
        run_chain(archive, [], folder=tmp_path)
        assert archive.verdicts.counts() == {}
        assert archive.column("kept").all()


def test_a_score_that_is_no_number_passes(tmp_path: Path) -> None:
    class Unsure(Brightness):
        def scores(self, candidates: Candidates) -> NDArray[np.float64]:
            return np.full(len(candidates), np.nan)

    with filled(tmp_path) as archive:
        (stage,) = run_chain(archive, [Unsure(100)], folder=tmp_path)
        assert stage.passed == COUNT
        assert stage.would_keep_a_few is None


def test_where_nothing_passes_a_threshold_for_a_few_is_named(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        (stage,) = run_chain(archive, [Brightness(1000)], folder=tmp_path)
        assert stage.passed == 0
        assert stage.would_keep_a_few is not None
        (again,) = run_chain(archive, [Brightness(stage.would_keep_a_few)], folder=tmp_path)
        assert again.passed == pytest.approx(0.05 * COUNT, abs=COUNT / 256 + 1)


def test_a_threshold_that_was_broken_off_is_held_against_all_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(tmp_path) as archive:
        run_chain(archive, [Brightness(100)], folder=tmp_path)
        written: list[int] = []

        def breaking(archive: Archive, one: Filter, ids: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
            if written:
                raise KeyboardInterrupt
            written.append(len(ids))
            write(archive, one, ids, scores)

        write = chain._write
        with monkeypatch.context() as patched:
            patched.setattr(chain, "_write", breaking)
            with pytest.raises(KeyboardInterrupt):
                run_chain(archive, [Brightness(200)], folder=tmp_path)
        assert written == [PAGE]
        run_chain(archive, [Brightness(100)], folder=tmp_path)
        np.testing.assert_array_equal(archive.column("kept"), brightness(archive) >= 100)


def test_damaged_memory_means_scoring_anew(tmp_path: Path) -> None:
    with filled(tmp_path) as archive:
        run_chain(archive, [Brightness(100)], folder=tmp_path)
        (tmp_path / "filters.json").write_text("{", encoding="utf-8")
        again = Brightness(100)
        run_chain(archive, [again], folder=tmp_path)
        assert sum(again.seen) == COUNT


@pytest.mark.parametrize(("keep", "expected"), [("first", [True, False, True]), ("divergent", [False, True, True])])
def test_of_near_triggers_one_is_kept(tmp_path: Path, keep: Order, expected: list[bool]) -> None:
    images = np.zeros((3, 4, 4, 1), dtype=np.uint8)
    images[0, 0], images[1, 0], images[2, 3] = 200, 100, 200  # the first two have one direction, and the third its own
    images[1, 0, 0] = 101
    with filled(tmp_path, images) as archive:
        (stage,) = run_chain(archive, [], folder=tmp_path, unique=DuplicateFilter(0.1, keep))
        assert (stage.before, stage.passed) == (3, 2)
        assert archive.column("kept").tolist() == expected


def test_what_a_filter_rejects_is_nobodys_duplicate(tmp_path: Path) -> None:
    images = np.zeros((2, 4, 4, 1), dtype=np.uint8)
    images[0, 0], images[1, 0] = 10, 200
    with filled(tmp_path, images) as archive:
        run_chain(archive, [Brightness(20)], folder=tmp_path, unique=DuplicateFilter(0.1))
        assert archive.column("kept").tolist() == [False, True]
        run_chain(archive, [Brightness(1)], folder=tmp_path, unique=DuplicateFilter(0.1))
        assert archive.column("kept").tolist() == [True, False]


@pytest.mark.parametrize("distance", [0, -1, 2.5])
def test_a_distance_out_of_range_is_refused(distance: float) -> None:
    with pytest.raises(UsageError, match="distance"):
        DuplicateFilter(distance)
