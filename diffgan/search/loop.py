"""The search itself: ask, classify, archive, tell, until the budget is reached."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive, TriggerBatch
from diffgan.errors import ArchiveError, ModelError, UsageError
from diffgan.images import ByteImages, image_ids
from diffgan.search.budgets import Budget, Spent
from diffgan.search.checkpoint import Packer, unpack
from diffgan.search.clock import SearchClock
from diffgan.search.divergence import Divergences
from diffgan.search.evaluation import Begun, Evaluated, Evaluator
from diffgan.search.stopwatch import Stopwatch
from diffgan.search.strategies.protocol import Batch, State, Strategy

#: Batches without a trigger after which the checkpoint is written all the same.
QUIET_BATCHES = 16
#: Seconds to the end of the search in which a model that does not answer is no failure: its deadline is over.
_SLACK = 0.05

#: Which of some new triggers are far enough from all that were admitted before.
Admit = Callable[[ByteImages], NDArray[np.bool_]]


@dataclass(frozen=True)
class Moment:
    """Where a search stands, for who watches it.

    Attributes:
        spent: used and found so far.
        share: how much of the budget is used up, 0 to 1.
        facts: the strategy's.
        disagreement: archived triggers by (label of A, label of B).
    """

    spent: Spent
    share: float
    facts: Mapping[str, Any]
    disagreement: Mapping[tuple[int, int], int]


class Search:
    """One search over one pair, into one archive.

    Args:
        strategy: says what to try.
        evaluator: asks the models.
        archive: takes the triggers; a checkpoint in it can be gone on from.
        budget: ends the search.
        clock: made with the budget's seconds; the strategy has the same one.
        stopwatch: told where the time goes.
        admit: which of the triggers with new images are archived; None: all are.
    """

    def __init__(
        self,
        strategy: Strategy,
        evaluator: Evaluator,
        archive: Archive,
        budget: Budget,
        *,
        clock: SearchClock,
        stopwatch: Stopwatch,
        admit: Admit | None = None,
    ) -> None:
        if budget == Budget():
            raise UsageError("The search has no end: give a budget of time, evaluations, queries or triggers.")
        self.spent = Spent()
        self.disagreement: dict[tuple[int, int], int] = {}
        self._strategy, self._evaluator, self._archive, self._budget = strategy, evaluator, archive, budget
        self.clock, self.stopwatch, self._admit = clock, stopwatch, admit
        self._packer = Packer()
        self._stopped = False
        self._generation, self._quiet = 0, 0
        #: Seconds that the last batch took, and its images.
        self._last: tuple[float, int] | None = None
        #: The first answers to the next batch, where a limit cut it short.
        self._begun: Begun | None = None
        #: The strategy's state before it was asked for the batch under way, where it may be needed: asking changes it.
        self._before: State | None = None
        #: Whether queries are counted or cost something, so that none may be forgotten.
        self._paid = budget.queries is not None or evaluator.remote
        #: The queries of each model before the part under way.
        self._asked = 0, 0
        #: Whether time was over before a remote model answered.
        self._late = False

    def stop(self) -> None:
        """Ends the search after the batch that is under way."""
        self._stopped = True

    def restore(self) -> bool:
        """Goes back to the archive's checkpoint; False where there is none.

        Raises:
            ArchiveError: it is damaged, or of another version.
        """
        parts = self._archive.checkpoint()
        if not parts:
            return False
        self.spent, arrays, extra = unpack(parts)
        self._begun = Begun.taken_from(arrays)
        try:
            self._strategy.restore(arrays)
        except (KeyError, ValueError) as error:
            raise ArchiveError(
                f"The run's checkpoint is not one of this version's {self._strategy.name} ({error}): its triggers are "
                "safe; search on in another --out."
            ) from error
        self._generation = int(extra["generation"])
        self.disagreement = {
            (a, b): count for (a, b), count in self._archive.disagreement().items() if a is not None and b is not None
        }
        return True

    def run(self, watch: Callable[[Moment], None] = lambda _: None) -> str:
        """Searches until the budget is reached or `stop` is called.

        Returns:
            The limit that ended it, or `stopped`.

        Raises:
            ModelError: a model failed; what was found before is archived.
            ArchiveError: the disk refuses; what was found before is archived.
        """
        self.clock.start(self.spent.seconds)
        while (ended := self._ended()) is None:
            self._one_batch()
            self.spent = self.spent.model_copy(update={"seconds": self.clock.seconds})
            watch(self.moment())
        if self._quiet:
            state = self._strategy.state() if self._before is None else self._before
            self._archive.save_checkpoint(self._checkpoint(state))
        return ended

    def moment(self) -> Moment:
        """Where the search stands."""
        return Moment(self.spent, self._budget.share(self.spent), self._strategy.facts(), self.disagreement)

    def _ended(self) -> str | None:
        if self._stopped:
            return "stopped"
        if self._late:
            return "seconds"
        ended = self._budget.reached(self.spent)
        if ended is None and self._budget.room(self.spent, 1) < 1:
            return "queries"
        return ended

    def _one_batch(self) -> None:
        started = self.clock.seconds
        # Only what may cut the batch short, or end it without an answer, makes the state before it worth keeping.
        if self._before is None and (self._budget.counted or self._paid or self._is_short()):
            self._before = self._strategy.state()
        before = self._before
        with self.stopwatch.measure("selection"):
            batch = self._strategy.ask()
        done = 0 if self._begun is None else len(self._begun)
        room = self._budget.room(self.spent, len(batch) - done)
        stop = done + (room if before is None else min(room, self._fits()))
        part = batch.rows(done, stop)
        said = self._evaluated(part)
        if said is None:
            return
        if stop < len(batch):
            assert before is not None
            is_new, ids = self._news(part, said)
            self._begun = Begun(said, is_new) if self._begun is None else self._begun.with_more(said, is_new)
            self._keep(self._found(part, said, is_new), ids, lambda: before)
            return
        self._tell(part, said)
        self._before = None
        self._last = self.clock.seconds - started, len(part)

    def _is_short(self) -> bool:
        """Whether time may be over before the next batch is."""
        return self._last is not None and self.clock.left is not None and self.clock.left < 2 * self._last[0]

    def _fits(self) -> int:
        """How many images there may be time for, going by the last batch; at least one."""
        if self._last is None or self.clock.left is None:
            return sys.maxsize
        seconds, images = self._last
        return max(1, int(images * self.clock.left / max(seconds, 1e-9)))

    def _evaluated(self, part: Batch) -> Evaluated | None:
        """The answers of both models; None where the search's time was over before they came.

        Raises:
            ModelError: a model failed; what it was asked is in the checkpoint, where that counts.
        """
        before_a, before_b = self._evaluator.queries
        self._asked = self.spent.queries_a, self.spent.queries_b
        try:
            with self.stopwatch.measure("models"):
                said = self._evaluator.evaluate(part.images, expected=part.classes, deadline=self.clock.left)
        except BaseException as error:
            self._count_queries(before_a, before_b)
            if self._before is None:
                raise
            with suppress(ArchiveError):
                self._archive.save_checkpoint(self._checkpoint(self._before))
            if not isinstance(error, ModelError) or not self._is_late():
                raise
            self._late = True
            return None
        self._count_queries(before_a, before_b)
        self.spent = self.spent.model_copy(
            update={
                "evaluations": self.spent.evaluations + len(part),
                "triggers": self.spent.triggers + int(said.triggers.sum()),
            }
        )
        return said

    def _is_late(self) -> bool:
        """Whether the search's time is over, and a model somewhere else, which has answered before, was waited for."""
        left = self.clock.left
        return self._evaluator.remote and self.spent.evaluations > 0 and left is not None and left <= _SLACK

    def _count_queries(self, before_a: int, before_b: int) -> None:
        after_a, after_b = self._evaluator.queries
        self.spent = self.spent.model_copy(
            update={
                "seconds": self.clock.seconds,
                "queries_a": self.spent.queries_a + after_a - before_a,
                "queries_b": self.spent.queries_b + after_b - before_b,
            }
        )

    def _tell(self, part: Batch, said: Evaluated) -> None:
        """Tells the strategy of the whole batch, and archives what of it is not archived yet."""
        is_new, ids = self._news(part, said)
        found = self._found(part, said, is_new)
        whole = Begun(said, is_new) if self._begun is None else self._begun.with_more(said, is_new)
        self._begun = None
        divergences = Divergences(whole.said.divergence, whole.said.triggers)
        with self.stopwatch.measure("selection"):
            self._strategy.tell(whole.said.outputs_a, whole.said.outputs_b, divergences, whole.is_new)
        self._generation += 1
        self._keep(found, ids, self._strategy.state)

    def _news(self, part: Batch, said: Evaluated) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which triggers the archive lacks, and will be given: of equal images, the first. And their ids."""
        is_new = np.zeros(len(part), dtype=np.bool_)
        rows = np.flatnonzero(said.triggers)
        if not len(rows):
            return is_new, np.empty(0, dtype=np.int64)
        with self.stopwatch.measure("archive"):
            ids = image_ids(part.images[rows])
            new = np.zeros(len(ids), dtype=np.bool_)
            new[np.unique(ids, return_index=True)[1]] = True
            new &= ~self._archive.contains(ids)
        if self._admit is not None and new.any():
            with self.stopwatch.measure("diversity"):
                new[new] = self._admit(part.images[rows[new]])
        is_new[rows[new]] = True
        return is_new, ids[new]

    def _keep(self, found: TriggerBatch, ids: NDArray[np.int64], state: Callable[[], State]) -> None:
        """Triggers and checkpoint are committed together; without a trigger, now and then."""
        self.spent = self.spent.model_copy(update={"unique": self.spent.unique + len(ids)})
        if not len(ids) and self._begun is None and not self._paid and self._quiet + 1 < QUIET_BATCHES:
            self._quiet += 1
            return
        self._quiet = 0
        with self.stopwatch.measure("archive"):
            checkpoint = self._checkpoint(state())
            if len(ids):
                self._archive.add(found, checkpoint, new_ids=ids)
            else:
                self._archive.save_checkpoint(checkpoint)
        self._count(found)

    def _found(self, part: Batch, said: Evaluated, is_new: NDArray[np.bool_]) -> TriggerBatch:
        classes = self._evaluator.divergence.task == "classification"
        rows = np.flatnonzero(is_new)
        count, before = len(rows), self.spent.evaluations - len(part)
        # Confirmations come after the batch: they count from the next one on.
        asked = rows + 1
        start_a, start_b = self._asked
        return TriggerBatch(
            images=part.images[rows],
            outputs_a=said.outputs_a[rows],
            outputs_b=said.outputs_b[rows],
            label_a=said.outputs_a[rows].argmax(axis=1) if classes else None,
            label_b=said.outputs_b[rows].argmax(axis=1) if classes else None,
            divergence=said.divergence[rows],
            evaluation=before + asked,
            generation=np.full(count, self._generation + 1, dtype=np.int64),
            seconds=np.full(count, self.spent.seconds),
            queries_a=start_a + asked,
            queries_b=start_b + asked,
            latents=None if part.latents is None else part.latents[rows],
            classes=None if part.classes is None else part.classes[rows],
            seed_index=None if part.seed_index is None else part.seed_index[rows],
            # Evaluations count from 0 in a batch, and from 1 in the archive, where 0 is none.
            parent=None if part.parent is None else part.parent[rows] + 1,
        )

    def _count(self, found: TriggerBatch) -> None:
        if found.label_a is None or found.label_b is None:
            return
        counts = Counter(zip(found.label_a.tolist(), found.label_b.tolist(), strict=True))
        for cell, count in counts.items():
            self.disagreement[cell] = self.disagreement.get(cell, 0) + count

    def _checkpoint(self, state: State) -> dict[str, bytes]:
        begun = {} if self._begun is None else self._begun.to_state()
        return self._packer.pack(self.spent, {**state, **begun}, {"generation": self._generation})
