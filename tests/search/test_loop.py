"""The search loop: budgets to the image, resumed equals uninterrupted, and what is archived is what the models saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diffgan.archive import Archive
from diffgan.errors import ArchiveError, ModelError, RetryLaterError, UsageError
from diffgan.images import FloatImages, to_floats
from diffgan.models import Classifier, load_classifier
from diffgan.models.options import Layout, ModelOptions
from diffgan.search.budgets import Budget
from diffgan.search.checkpoint import unpack
from diffgan.search.clock import SearchClock
from diffgan.search.divergence import divergence_named
from diffgan.search.evaluation import Begun, Evaluator, margins
from diffgan.search.loop import Moment, Search
from diffgan.search.stopwatch import Stopwatch
from diffgan.search.strategies.protocol import StrategySetup
from diffgan.search.strategies.registry import build_strategy
from tests.search.pairs import CLASSES, SPEC, generator, linear, pair

NAMES = tuple(str(number) for number in range(CLASSES))
STRATEGIES = ["random", "nsga2"]


def setup(batch: int = 50, **settings: Any) -> StrategySetup:
    rng = np.random.default_rng(1)
    return StrategySetup(
        generator=generator(),
        images=rng.integers(0, 256, (200, 8, 8, 1), dtype=np.uint8),
        labels=np.arange(200) % CLASSES,
        seed=3,
        settings=settings,
        batch_size=batch,
        divergence=divergence_named("euclidean"),
    )


def search(
    archive: Archive, budget: Budget, *, strategy: str = "random", models: tuple[Classifier, Classifier] | None = None
) -> Search:
    evaluator = Evaluator(*(models or pair()), divergence_named("euclidean"))
    clock = SearchClock(budget.seconds)
    return Search(
        build_strategy(strategy, setup(**({"population": 100} if strategy == "nsga2" else {}))),
        evaluator,
        archive,
        budget,
        clock=clock,
        stopwatch=Stopwatch(),
    )


def create(path: Path) -> Archive:
    return Archive.create(path, SPEC, NAMES)


def content(archive: Archive) -> dict[str, bytes]:
    names = (
        "ids",
        "images",
        "outputs_a",
        "outputs_b",
        "latents",
        "evaluation",
        "generation",
        "divergence",
        "queries_a",
    )
    return {name: archive.column(name).tobytes() for name in names}


def test_answers_to_images_that_a_strategy_does_not_show_again_are_left_out(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as archive:
        search(archive, Budget(evaluations=75)).run()
        resumed = search(archive, Budget(evaluations=175))
        assert resumed.restore()
        strategy = resumed._strategy
        strategy._rng.random()  # type: ignore[attr-defined] # as by another kind of budget, it goes on otherwise
        asked, told, tell = [], [], strategy.tell

        def heard(outputs_a: Any, outputs_b: Any, divergences: Any, is_new: Any) -> None:
            asked.append(strategy.ask().images)
            told.append(outputs_a)
            tell(outputs_a, outputs_b, divergences, is_new)

        strategy.tell = heard  # type: ignore[method-assign]
        resumed.run()
        assert [len(images) for images in asked] == [50, 50]
        for images, outputs in zip(asked, told, strict=True):
            assert np.array_equal(pair()[0].predict(to_floats(images)), outputs)


def test_a_former_versions_checkpoint_in_the_middle_of_a_batch_is_gone_on_with() -> None:
    begun = {"begun/is_new": np.zeros(3, dtype=np.bool_), "begun/divergence": np.zeros(3), "strategy": np.zeros(1)}
    assert Begun.taken_from(begun) is None
    assert list(begun) == ["strategy"]


@pytest.mark.parametrize("limit", [1, 49, 50, 333])
def test_evaluations_and_queries_are_met_exactly(tmp_path: Path, limit: int) -> None:
    with create(tmp_path / "a.db") as archive:
        one = search(archive, Budget(evaluations=limit))
        assert one.run() == "evaluations"
        assert one.spent.evaluations == limit
    with create(tmp_path / "b.db") as archive:
        two = search(archive, Budget(queries=2 * limit + 1))
        assert two.run() == "queries"
        assert 2 * limit - 2 <= two.spent.queries_a + two.spent.queries_b <= 2 * limit + 2


class Clockwork:
    """A clock that goes on by a second, or as told, for each image that the model sees."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.each = 0.0, 1.0
        monkeypatch.setattr("diffgan.search.clock.perf_counter", lambda: self.now)
        monkeypatch.setattr("diffgan.search.evaluation.monotonic", lambda: self.now)
        monkeypatch.setattr("diffgan.models.classifier.monotonic", lambda: self.now)

    def slow(self, images: FloatImages) -> Any:
        self.now += self.each * len(images)
        return linear(0)(images)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_time_is_not_exceeded_by_a_whole_batch_of_slow_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """Batches of 50 take 50 s: the third would end at 150 s; and what is left of it comes when the search goes on."""

    def slow_search(archive: Archive, seconds: float) -> Search:
        clock = Clockwork(monkeypatch)
        models = load_classifier(clock.slow, spec=SPEC), pair()[1]
        return search(archive, Budget(seconds=seconds), strategy=strategy, models=models)

    with create(tmp_path / "whole.db") as archive:
        slow_search(archive, 200).run()
        whole = content(archive)
    with create(tmp_path / "parts.db") as archive:
        first = slow_search(archive, 120)
        assert first.run() == "seconds"
        assert 120 <= first.spent.seconds <= 123  # a disagreement by a hair is asked again
        assert 115 <= first.spent.evaluations <= 120
        second = slow_search(archive, 200)
        second.restore()
        second.run()
        assert second.spent.evaluations >= 190
        assert content(archive)["ids"][: len(whole["ids"])] == whole["ids"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_that_time_cut_more_than_once_goes_on_as_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """Telling takes as long as the models, which become slower: a second batch is shown as 30, 7, 2 and 1 image."""

    def sluggish(archive: Archive, seconds: float) -> Search:
        clock = Clockwork(monkeypatch)
        models = load_classifier(clock.slow, spec=SPEC), pair()[1]
        made = search(archive, Budget(seconds=seconds), strategy=strategy, models=models)
        tell = made._strategy.tell

        def slow_tell(*told: Any) -> None:
            clock.now, clock.each = clock.now + 50, 1.5
            tell(*told)

        monkeypatch.setattr(made._strategy, "tell", slow_tell)
        return made

    with create(tmp_path / "whole.db") as archive:
        sluggish(archive, 1300).run()
        whole = content(archive)
    with create(tmp_path / "parts.db") as archive:
        first = sluggish(archive, 160)
        first.run()
        assert 50 < first.spent.evaluations < 95
        for seconds in (200, 420, 900):
            later = sluggish(archive, seconds)
            assert later.restore()
            later.run()
        parts = content(archive)
        assert archive.count() > 5
        assert whole["ids"].startswith(parts["ids"])
        assert whole["latents"].startswith(parts["latents"])


class Remote:
    """A runtime somewhere else, which takes ten seconds for a call, and never more than it is given."""

    layout: Layout = "NCHW"
    batch: int | None = None
    input_shape: tuple[int | None, ...] | None = None

    def __init__(self, clock: Clockwork, seed: int) -> None:
        self._clock, self._answer = clock, linear(seed, 0.3)
        self.fails = False

    def run(
        self, inputs: FloatImages, *, features: bool = False, timeout: float | None = None
    ) -> tuple[FloatImages, None]:
        if self.fails:
            raise ModelError("the endpoint is out of order.")
        taken = 10.0 if timeout is None else max(0.0, min(10.0, timeout))
        self._clock.now += taken
        if taken < 10:
            raise ModelError(f"the endpoint gave no answer within {taken} s.")
        return self._answer(inputs), None

    def close(self) -> None: ...


def remote(runtime: Remote, name: str) -> Classifier:
    return Classifier(runtime, ModelOptions(), name=name, source=f"http://localhost/{name}", fingerprint=name)


@pytest.mark.parametrize(("seconds", "queries"), [(5.0, 0), (15.0, 50)])
def test_a_remote_model_that_never_answered_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, queries: int
) -> None:
    clock = Clockwork(monkeypatch)
    models = remote(Remote(clock, 1), "a"), remote(Remote(clock, 2), "b")
    with create(tmp_path / "a.db") as archive:
        with pytest.raises(ModelError, match="no answer within 5"):
            search(archive, Budget(seconds=seconds), models=models).run()
        again = search(archive, Budget(seconds=200), models=models)
        assert again.restore()
        assert (again.spent.queries_a, again.spent.queries_b) == (queries, 0)


def test_a_model_here_that_fails_at_the_end_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clockwork(monkeypatch)

    def failing(images: FloatImages) -> np.ndarray:
        clock.now += len(images)
        if clock.now > 151:
            raise RuntimeError("out of order")
        return linear(1)(images)

    models = load_classifier(failing, spec=SPEC, name="failing"), pair()[1]
    clock.now = 0.0
    with create(tmp_path / "a.db") as archive, pytest.raises(ModelError, match="out of order"):
        search(archive, Budget(seconds=155, evaluations=10_000), models=models).run()


@pytest.mark.parametrize("seconds", [47.0, 58.0])
def test_a_remote_model_whose_answer_would_come_too_late_ends_the_search_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    clock = Clockwork(monkeypatch)
    models = remote(Remote(clock, 1), "a"), remote(Remote(clock, 2), "b")
    with create(tmp_path / "a.db") as archive:
        one = search(archive, Budget(seconds=seconds), models=models, strategy="nsga2")
        assert one.run() == "seconds"
        assert one.spent.seconds == pytest.approx(seconds)
        again = search(archive, Budget(seconds=200), models=models, strategy="nsga2")
        assert again.restore()
        assert (again.spent.queries_a, again.spent.queries_b) == (one.spent.queries_a, one.spent.queries_b)
        again.run()
        found = archive.column("ids").tobytes()
    with create(tmp_path / "whole.db") as archive:
        Clockwork(monkeypatch)
        search(archive, Budget(evaluations=1000), strategy="nsga2", models=(local(1), local(2))).run()
        assert archive.column("ids").tobytes().startswith(found)


class Busy(Remote):
    """It answers for a while, and then wants to be left alone for a minute."""

    def run(
        self, inputs: FloatImages, *, features: bool = False, timeout: float | None = None
    ) -> tuple[FloatImages, None]:
        if self._clock.now > 30:
            raise RetryLaterError("the endpoint asks to wait 60 s.", 60)
        return super().run(inputs, features=features, timeout=timeout)


@pytest.mark.parametrize(("seconds", "ends"), [(70.0, "seconds"), (85.0, None), (500.0, None)])
def test_a_remote_model_that_asks_to_wait_longer_than_the_last_moments_ends_it_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, ends: str | None
) -> None:
    clock = Clockwork(monkeypatch)
    models = remote(Busy(clock, 1), "a"), remote(Busy(clock, 2), "b")
    with create(tmp_path / "a.db") as archive:
        one = search(archive, Budget(seconds=seconds), models=models)
        if ends is None:
            with pytest.raises(ModelError, match="asks to wait"):
                one.run()
        else:
            assert one.run() == ends
        assert one.spent.evaluations > 0


def local(seed: int) -> Classifier:
    return load_classifier(linear(seed, 0.3), spec=SPEC, name=str(seed))


def test_what_paid_models_were_asked_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They never disagree, so nothing else would be written; and at the end A has answered, and B fails."""
    runtimes = [Remote(Clockwork(monkeypatch), 0), Remote(Clockwork(monkeypatch), 0)]
    models = remote(runtimes[0], "a"), remote(runtimes[1], "b")
    with create(tmp_path / "a.db") as archive:
        one = search(archive, Budget(queries=10_000), models=models)

        def fail(moment: Moment) -> None:
            assert unpack(archive.checkpoint())[0].queries_a == moment.spent.queries_a
            runtimes[1].fails = moment.spent.evaluations >= 150

        with pytest.raises(ModelError, match="out of order"):
            one.run(fail)
        again = search(archive, Budget(queries=10_000), models=models)
        assert again.restore()
        spent = again.spent
        assert (spent.evaluations, spent.queries_a, spent.queries_b, archive.count()) == (150, 200, 150, 0)


def test_a_triggers_queries_are_those_up_to_it_and_confirmations_come_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diffgan.search.evaluation.NEAR", 2.0)  # every disagreement is asked again
    with create(tmp_path / "a.db") as archive:
        one = search(archive, Budget(evaluations=100))
        one.run()
        evaluation, queries = archive.column("evaluation"), archive.column("queries_a")
        assert one.spent.queries_a == 100 + one.spent.triggers
        first = evaluation <= 50
        assert first.any()
        assert (queries[first] == evaluation[first]).all()
        assert (queries[~first] == evaluation[~first] + first.sum()).all()


def test_a_search_without_an_end_is_refused(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as archive, pytest.raises(UsageError, match="no end"):
        search(archive, Budget())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_seed_gives_the_same_archive(tmp_path: Path, strategy: str) -> None:
    made = []
    for name in ("one", "two"):
        with create(tmp_path / f"{name}.db") as archive:
            search(archive, Budget(evaluations=700), strategy=strategy).run()
            assert archive.count() > 20
            made.append(content(archive))
    assert made[0] == made[1]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("stop_at", [50, 250, 600])
def test_resumed_equals_uninterrupted(tmp_path: Path, strategy: str, stop_at: int) -> None:
    with create(tmp_path / "whole.db") as archive:
        search(archive, Budget(evaluations=800), strategy=strategy).run()
        whole = content(archive)
    with create(tmp_path / "parts.db") as archive:
        first = search(archive, Budget(evaluations=800), strategy=strategy)

        def stop(moment: Moment) -> None:
            if moment.spent.evaluations >= stop_at:
                first.stop()

        assert first.run(stop) == "stopped"
        second = search(archive, Budget(evaluations=800), strategy=strategy)
        assert second.restore()
        assert second.spent.evaluations == first.spent.evaluations
        assert second.run() == "evaluations"
        assert content(archive) == whole
        assert second.spent.evaluations == 800


def test_a_checkpoint_of_another_version_says_what_to_do(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as archive:
        search(archive, Budget(evaluations=100), strategy="nsga2").run()
        parts = archive.checkpoint()
        former = {name.replace("counters", "count"): value for name, value in parts.items()}
        archive.save_checkpoint({**former, "shapes": parts["shapes"].replace(b"counters", b"count")})
        with pytest.raises(ArchiveError, match=r"this version's nsga2 .*search on in another --out"):
            search(archive, Budget(evaluations=200), strategy="nsga2").restore()
        assert archive.count()


def test_more_evaluations_later_are_the_same_as_at_once(tmp_path: Path) -> None:
    with create(tmp_path / "whole.db") as archive:
        search(archive, Budget(evaluations=500), strategy="nsga2").run()
        whole = content(archive)
    with create(tmp_path / "parts.db") as archive:
        for limit in (130, 131, 333, 500):
            part = search(archive, Budget(evaluations=limit), strategy="nsga2")
            part.restore()
            part.run()
            assert part.spent.evaluations == limit
            # A disagreement by a hair is asked again.
            assert limit <= part.spent.queries_a <= limit + 3
        assert content(archive) == whole


@pytest.mark.parametrize("batch", [1, 7, 512])
def test_every_archived_trigger_triggers_again(tmp_path: Path, batch: int) -> None:
    with create(tmp_path / "a.db") as archive:
        search(archive, Budget(evaluations=2000)).run()
        images = archive.column("images")
        stored = archive.column("label_a"), archive.column("label_b")
    assert len(images) > 50
    for model, labels in zip(pair(), stored, strict=True):
        floats = to_floats(images)
        again = np.concatenate([model.predict(floats[at : at + batch]) for at in range(0, len(floats), batch)])
        assert np.array_equal(again.argmax(axis=1), labels)
    assert (stored[0] != stored[1]).all()


def test_a_disagreement_by_a_hair_is_confirmed_alone() -> None:
    calls: list[int] = []

    def moody(images: FloatImages) -> np.ndarray:
        """Leans to class 1 by a hair in company, and to class 0 alone."""
        calls.append(len(images))
        edge = 1e-5 if len(images) > 1 else -1e-5
        return np.tile(np.array([[0.5 - edge, 0.5 + edge, 0, 0]], dtype=np.float32), (len(images), 1))

    def calm(images: FloatImages) -> np.ndarray:
        return np.tile(np.array([[0.9, 0.1, 0, 0]], dtype=np.float32), (len(images), 1))

    models = load_classifier(moody, spec=SPEC, name="moody"), load_classifier(calm, spec=SPEC, name="calm")
    calls.clear()
    said = Evaluator(*models, divergence_named("euclidean")).evaluate(np.zeros((3, 8, 8, 1), dtype=np.uint8))
    assert calls == [3, 1, 1, 1]
    assert not said.triggers.any()


def test_margins_are_the_first_less_the_second() -> None:
    rows = np.array([[0.7, 0.1, 0.2], [0.5, 0.5, 0.0]], dtype=np.float32)
    assert margins(rows) == pytest.approx([0.5, 0.0])
    assert margins(np.ones((2, 1), dtype=np.float32)).tolist() == [1, 1]


def test_a_pair_that_never_disagrees_ends_with_an_empty_archive(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as archive:
        one = search(archive, Budget(evaluations=400), models=pair(noise=0.0), strategy="nsga2")
        assert one.run() == "evaluations"
        assert archive.count() == 0
        assert one.spent.unique == 0
        again = search(archive, Budget(evaluations=500), models=pair(noise=0.0), strategy="nsga2")
        assert again.restore()
        assert again.spent.evaluations == 400


def test_a_model_that_fails_in_mid_search_leaves_what_was_found(tmp_path: Path) -> None:
    answer, calls = linear(1), 0

    def failing(images: FloatImages) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > 8:
            raise RuntimeError("out of order")
        return answer(images)

    models = load_classifier(failing, spec=SPEC, name="failing"), pair()[1]
    with create(tmp_path / "a.db") as archive:
        one = search(archive, Budget(evaluations=5000), models=models)
        with pytest.raises(ModelError, match="out of order"):
            one.run()
        found = archive.count()
        assert found > 0
        again = search(archive, Budget(evaluations=800))
        assert again.restore()
        again.run()
        assert archive.count() > found


def test_triggers_end_it(tmp_path: Path) -> None:
    with create(tmp_path / "a.db") as archive:
        one = search(archive, Budget(triggers=30))
        assert one.run() == "triggers"
        assert 30 <= archive.count() <= 30 + 50
        assert sum(one.disagreement.values()) == archive.count() == one.spent.unique
