"""Diversity: golden scores, refits at fixed points, resumed runs that equal whole ones, and a worker that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from threadpoolctl import threadpool_info

from diffgan.errors import DataError, UsageError
from diffgan.images import ByteImages
from diffgan.search.clusters import ClusterSettings, find_representatives
from diffgan.search.diversity import Diversity, DiversitySettings
from diffgan.search.refits import RefitsHere, RefitsInWorker
from diffgan.search.sample import Positions, Sample
from diffgan.stats import cosine_distances

CLUSTERS = ClusterSettings(epochs=20)
QUICK = DiversitySettings(stand_ins=10, sample=120, first=60, growth=2, patience=2, clusters=CLUSTERS)


def groups(count: int, each: int, seed: int = 0) -> ByteImages:
    rng = np.random.default_rng(seed)
    centres = rng.integers(40, 216, (count, 8, 8, 1))
    noise = rng.integers(-15, 16, (each, count, 8, 8, 1))
    return np.asarray((centres + noise).reshape(-1, 8, 8, 1), dtype=np.uint8)


REAL = groups(10, 5, seed=1)
TRIGGERS = groups(6, 60)


def new(settings: DiversitySettings = QUICK, **options: Any) -> Diversity:
    return Diversity(REAL, seed=3, settings=settings, **({"refits": RefitsHere()} | options))


def steps(diversity: Diversity, start: int, stop: int) -> list[NDArray[np.uint8]]:
    """Batches of 12 triggers among 50 evaluations; the representatives after each."""
    seen = []
    for batch in range(start, stop):
        diversity.observe(TRIGGERS[12 * batch : 12 * (batch + 1)])
        diversity.advance(50 * (batch + 1))
        seen.append(diversity.representatives.copy())
    return seen


@pytest.fixture(scope="module")
def worker() -> Iterator[RefitsInWorker]:
    refits = RefitsInWorker()
    refits.warm_up()
    yield refits
    refits.close()


def test_golden_scores_from_the_stand_ins() -> None:
    real = np.array([[3, 4], [0, 5]], dtype=np.uint8).reshape(2, 1, 2, 1)
    images = np.array([[4, 3], [0, 9], [5, 0], [0, 0]], dtype=np.uint8).reshape(4, 1, 2, 1)
    # (4,3)·(3,4)/25 = .96 and (4,3)·(0,5)/25 = .6; (0,9) points where (0,5) does; (5,0)·(3,4)/25 = .6; black is at 1.
    scores = Diversity(real, seed=0, refits=RefitsHere()).scores(images)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, [0.04, 0, 0.4, 1], atol=1e-6)


def test_a_black_image_is_near_to_a_black_representative_only() -> None:
    real = np.zeros((2, 2, 2, 1), dtype=np.uint8)
    real[1] = 9
    images = np.stack([real[0], real[1] // 2])
    assert Diversity(real, seed=0, refits=RefitsHere()).scores(images).tolist() == [0, 0]
    assert Diversity(real[:1], seed=0, refits=RefitsHere()).scores(images).tolist() == [0, 1]


def test_scores_are_the_least_cosine_distance() -> None:
    diversity = new()
    expected = cosine_distances(TRIGGERS, diversity.representatives).min(axis=1)
    np.testing.assert_allclose(diversity.scores(TRIGGERS), expected, atol=2e-6)
    assert diversity.scores(TRIGGERS[:0]).shape == (0,)


def test_scoring_leaves_the_threads_of_numpy_as_they_were() -> None:
    before = threadpool_info()
    new().scores(TRIGGERS)
    assert threadpool_info() == before


def test_real_images_stand_in_by_the_seed() -> None:
    first, second = new(), Diversity(REAL, seed=4, settings=QUICK, refits=RefitsHere())
    assert first.clusters == 0
    assert first.representatives.shape == (10, 8, 8, 1)
    assert {image.tobytes() for image in first.representatives} <= {image.tobytes() for image in REAL}
    np.testing.assert_array_equal(first.representatives, new().representatives)
    assert not np.array_equal(first.representatives, second.representatives)


def test_all_real_images_stand_in_where_there_are_few() -> None:
    assert len(Diversity(REAL[:3], seed=0, refits=RefitsHere()).representatives) == 3


def test_a_refit_is_adopted_at_its_evaluation_and_not_before() -> None:
    history = steps(new(), 0, 10)
    # 60 triggers are there after 5 batches, 250 evaluations; 2 evaluations for each pass: adopted from 370 on.
    assert all(np.array_equal(history[0], now) for now in history[:7])
    expected = TRIGGERS[find_representatives(TRIGGERS[:60], seed=fit_seed(60), settings=CLUSTERS)]
    np.testing.assert_array_equal(history[7], expected)
    assert not np.array_equal(history[7], history[0])


def fit_seed(seen: int) -> int:
    return int(np.random.SeedSequence([3, seen]).generate_state(1)[0])


def test_refits_follow_the_growth_of_the_archive() -> None:
    history = steps(new(), 0, 30)
    changes = [batch for batch in range(1, 30) if not np.array_equal(history[batch], history[batch - 1])]
    # Started with 60, 120 and 240 triggers (batches 4, 9 and 19), adopted 120, 240 and 240 evaluations later.
    assert changes == [7, 14, 24]


def test_faithful_fits_all_triggers_after_every_batch() -> None:
    settings = DiversitySettings(mode="faithful", stand_ins=10, clusters=CLUSTERS)
    history = steps(new(settings), 0, 5)
    assert len(history[0]) == 10  # 12 triggers are too few
    for batch in range(1, 5):
        seen = 12 * (batch + 1)
        expected = TRIGGERS[find_representatives(TRIGGERS[:seen], seed=fit_seed(seen), settings=CLUSTERS)]
        np.testing.assert_array_equal(history[batch], expected)


def test_an_archive_of_one_keeps_the_stand_ins() -> None:
    for settings in (QUICK, DiversitySettings(mode="faithful", stand_ins=10, clusters=CLUSTERS)):
        diversity = new(settings)
        before = diversity.representatives.copy()
        diversity.observe(TRIGGERS[:1])
        diversity.advance(50)
        diversity.observe(TRIGGERS[:0])
        diversity.advance(100)
        np.testing.assert_array_equal(diversity.representatives, before)
        assert diversity.clusters == 0


def test_a_refit_without_clusters_changes_nothing() -> None:
    diversity = new(DiversitySettings(stand_ins=10, first=60, patience=0, clusters=ClusterSettings(smallest=10_000)))
    before = diversity.representatives.copy()
    steps(diversity, 0, 10)
    np.testing.assert_array_equal(diversity.representatives, before)
    assert diversity.clusters == 0


def test_two_runs_are_equal() -> None:
    for first, second in zip(steps(new(), 0, 16), steps(new(), 0, 16), strict=True):
        np.testing.assert_array_equal(first, second)


def recall(positions: Positions) -> ByteImages:
    return TRIGGERS[positions]


@pytest.mark.parametrize("remember", [None, recall], ids=["state holds images", "archive holds images"])
def test_a_resumed_run_equals_an_uninterrupted_one(remember: Callable[[Positions], ByteImages] | None) -> None:
    whole = steps(new(), 0, 26)
    # Before any refit, on the way to the first, after it, on the way to the second and third, and after all.
    for cut in (0, 2, 5, 6, 8, 11, 22, 25):
        first = new(recall=remember)
        steps(first, 0, cut)
        state = {name: array.copy() for name, array in first.state().items()}
        second = new(recall=remember)
        second.restore(state)
        again = second.state()
        assert state.keys() == again.keys()
        assert all(np.array_equal(state[name], again[name]) for name in state)
        if cut:
            np.testing.assert_array_equal(second.representatives, whole[cut - 1])
        for now, expected in zip(steps(second, cut, 26), whole[cut:], strict=True):
            np.testing.assert_array_equal(now, expected)


def test_a_state_is_plain_arrays_of_bounded_size() -> None:
    with_images, without = new(), new(recall=recall)
    steps(with_images, 0, 21)
    steps(without, 0, 21)
    assert sum(array.nbytes for array in with_images.state().values()) < 3 * 120 * 64 + 8 * 400
    assert sum(array.nbytes for array in without.state().values()) < 8 * 400
    assert not any(array.dtype.hasobject for array in with_images.state().values())


def test_a_faithful_run_resumes() -> None:
    settings = DiversitySettings(mode="faithful", stand_ins=10, clusters=CLUSTERS)
    whole = steps(new(settings), 0, 6)
    first = new(settings)
    steps(first, 0, 3)
    second = new(settings)
    second.restore(first.state())
    np.testing.assert_array_equal(second.representatives, whole[2])
    np.testing.assert_array_equal(steps(second, 3, 6)[-1], whole[-1])


def test_where_time_is_over_a_refit_is_adopted_later() -> None:
    left: list[float | None] = [0.0]
    hurried, calm = new(left=lambda: left[0]), new()
    first = steps(hurried, 0, 8)
    np.testing.assert_array_equal(first[-1], first[0])  # the stand-ins
    assert len(steps(calm, 0, 8)[-1]) != len(first[0])
    left[0] = None
    hurried.advance(401)
    assert hurried.clusters > 0


@pytest.mark.parametrize("mode", ["bounded", "faithful"])
def test_a_late_fit_is_waited_for_only_as_long_as_there_is_time(mode: Literal["bounded", "faithful"]) -> None:
    worker = RefitsInWorker()
    settings = DiversitySettings(mode=mode, stand_ins=10, sample=120, first=60, patience=0, clusters=CLUSTERS)
    diversity = new(settings, refits=worker, left=lambda: 0.05)
    diversity.warm_up()
    assert worker.process_id is not None
    os.kill(worker.process_id, signal.SIGSTOP)  # beside other work, it gets no time
    stand_ins = diversity.representatives
    steps(diversity, 0, 10)
    assert diversity.representatives is stand_ins
    os.kill(worker.process_id, signal.SIGCONT)
    assert worker.result() is not None
    assert worker.deaths == 0
    diversity.close()


def test_a_worker_finds_what_this_process_finds(worker: RefitsInWorker) -> None:
    for now, expected in zip(steps(new(refits=worker), 0, 26), steps(new(), 0, 26), strict=True):
        np.testing.assert_array_equal(now, expected)


def test_a_warm_worker_is_not_waited_for_again(worker: RefitsInWorker) -> None:
    worker.warm_up()
    assert worker.deaths == 0


def test_a_new_order_takes_the_place_of_an_old_one(worker: RefitsInWorker) -> None:
    worker.start(TRIGGERS[:100], seed=0, settings=CLUSTERS)
    worker.start(TRIGGERS[60:], seed=1, settings=CLUSTERS)
    expected = find_representatives(TRIGGERS[60:], seed=1, settings=CLUSTERS)
    np.testing.assert_array_equal(worker.result(), expected)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_worker_outlives_ctrl_c(worker: RefitsInWorker) -> None:
    assert worker.process_id is not None
    os.kill(worker.process_id, signal.SIGINT)
    worker.start(TRIGGERS, seed=0, settings=CLUSTERS)
    assert len(waited_for(worker)) > 1
    assert worker.deaths == 0


def waited_for(refits: RefitsInWorker) -> Positions:
    found = refits.result()
    assert found is not None
    return found


def kill(process_id: int | None) -> None:
    assert process_id is not None
    os.kill(process_id, signal.SIGTERM)


def test_where_the_worker_dies_the_fit_is_made_here() -> None:
    refits = RefitsInWorker()
    for expected_deaths in (1, 2, 3):
        refits.start(TRIGGERS, seed=expected_deaths, settings=CLUSTERS)
        kill(refits.process_id)
        expected = find_representatives(TRIGGERS, seed=expected_deaths, settings=CLUSTERS)
        np.testing.assert_array_equal(refits.result(), expected)
        assert refits.deaths == expected_deaths
    refits.start(TRIGGERS, seed=9, settings=CLUSTERS)
    assert refits.process_id is None  # three times is enough
    assert len(waited_for(refits)) > 1


def test_a_warm_worker_may_die_at_its_work_or_before() -> None:
    refits = RefitsInWorker()
    refits.warm_up()
    refits.start(groups(6, 300), seed=0, settings=ClusterSettings())
    kill(refits.process_id)
    expected = find_representatives(groups(6, 300), seed=0, settings=ClusterSettings())
    np.testing.assert_array_equal(refits.result(), expected)
    refits.begin()
    assert refits.process_id is not None
    kill(refits.process_id)
    wait_for_end(refits.process_id)
    refits.start(TRIGGERS, seed=1, settings=CLUSTERS)  # nobody reads this order
    np.testing.assert_array_equal(refits.result(), find_representatives(TRIGGERS, seed=1, settings=CLUSTERS))
    assert refits.deaths == 2


def test_a_worker_that_dies_before_the_order_is_replaced_by_this_process() -> None:
    refits = RefitsInWorker()
    refits.begin()
    kill(refits.process_id)
    refits.warm_up()
    assert refits.deaths == 1
    refits.close()


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("ending", ["pass", "os.kill(os.getpid(), signal.SIGKILL)"], ids=["exit", "kill -9"])
def test_a_worker_dies_with_its_parent(ending: str) -> None:
    script = (
        "import os, signal\nfrom diffgan.search.refits import RefitsInWorker\n"
        f"refits = RefitsInWorker()\nrefits.begin()\nprint(refits.process_id, flush=True)\n{ending}\n"
    )
    # The worker has the write end of no pipe but its own, so `communicate` does not wait for it.
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        answer, _ = parent.communicate(timeout=60)
    wait_for_end(int(answer))


def wait_for_end(process_id: int) -> None:
    """Returns when no such process is left; the test's own time limit is the deadline."""
    status = Path(f"/proc/{process_id}/stat")
    while True:
        try:
            os.kill(process_id, 0)
            if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
                return  # it has ended, and nobody has asked how
        except (ProcessLookupError, FileNotFoundError):
            return
        os.sched_yield()


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 5))
def test_a_sample_does_not_depend_on_batches(sizes: list[int], seed: int) -> None:
    total = sum(sizes)
    whole, parts = Sample(seed, 30), Sample(seed, 30)
    whole.add(TRIGGERS[:total])
    for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        parts.add(TRIGGERS[start : start + size])
    assert parts.seen == total
    np.testing.assert_array_equal(whole.positions, parts.positions)
    if total:
        np.testing.assert_array_equal(parts.images(), TRIGGERS[parts.positions])
    assert len(parts.positions) == min(30, total)


def test_a_sample_is_uniform_and_follows_the_seed() -> None:
    chosen = np.zeros(360)
    for seed in range(300):
        sample = Sample(seed, 36)
        sample.add(TRIGGERS)
        chosen[sample.positions] += 1
    # Each is drawn 30 times of 300 on average, with a standard deviation of 5.2.
    assert abs(chosen[:180].sum() - 5400) < 200
    assert 4 < chosen.std() < 6.5


def test_a_sample_copies_what_it_is_given() -> None:
    images = TRIGGERS[:50].copy()
    sample = Sample(0, 100)
    sample.add(images)
    images[:] = 0
    np.testing.assert_array_equal(sample.images(), TRIGGERS[:50])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "fast"}, "expected faithful or bounded"),
        ({"sample": 0}, "sample is 0"),
        ({"growth": 1.0}, "growth is 1.0"),
        ({"patience": -1}, "patience is -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DiversitySettings(**options)


class Section(BaseModel):
    """A section of a configuration, as strategies have them."""

    diversity: DiversitySettings = DiversitySettings()


def test_a_configuration_can_hold_the_settings() -> None:
    read = Section.model_validate({"diversity": {"sample": 500, "clusters": {"smallest": 5}}}).diversity
    assert read == DiversitySettings(sample=500, clusters=ClusterSettings(smallest=5))
    for wrong in ({"samples": 5}, {"sample": "many"}, {"clusters": {"smalest": 5}}):
        with pytest.raises(ValidationError):
            Section.model_validate({"diversity": wrong})


def test_a_sample_of_large_images_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffgan.search.diversity._MOST_BYTES", 30 * 64)
    diversity = new()
    steps(diversity, 0, 4)
    assert len(diversity.state()["sample"]) == 30


def test_images_of_another_size_are_refused() -> None:
    with pytest.raises(DataError, match="16"):
        new().scores(np.zeros((1, 4, 4, 1), dtype=np.uint8))


def test_real_images_are_needed() -> None:
    with pytest.raises(DataError, match="no real images"):
        Diversity(REAL[:0], seed=0, refits=RefitsHere())
