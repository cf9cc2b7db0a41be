"""The search itself: ask, classify, archive, tell, until the budget is reached."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive, TriggerBatch
from diffgan.errors import ArchiveError, ModelError, RetryLaterError, UsageError
from diffgan.images import ByteImages, image_ids
from diffgan.search.budgets import Budget, Spent
from diffgan.search.checkpoint import Packer, unpack
from diffgan.search.clock import SearchClock
from diffgan.search.divergence import Divergences
from diffgan.search.evaluation import Begun, Evaluated, Evaluator
from diffgan.search.found import cells_of, found
from diffgan.search.stopwatch import Stopwatch
from diffgan.search.strategies.protocol import Batch, State, Strategy

#: Batches without a trigger after which the checkpoint is written all the same.
QUIET_BATCHES = 16
#: Seconds to the end of the search in which a model that does not answer is no failure: its deadline is over.
_SLACK = 0.05
#: The last moments of a search: so many batches, or such a share of its time.
_LAST_BATCHES, _LAST_SHARE = 2, 0.05

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
        if self._begun is not None and not self._begun.begins(batch.images):
            # Under another kind of budget a strategy may go on otherwise than it had begun.
            self._begun = None
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
            self._begun = self._whole(part, said, is_new)
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
        # Part of what a call somewhere else takes is no less for fewer images; one that comes too late is lost.
        left = self.clock.left / 2 if self._evaluator.remote else self.clock.left
        return max(1, int(images * left / max(seconds, 1e-9)))

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
            if not isinstance(error, ModelError) or not self._is_late(error):
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

    def _is_late(self, error: ModelError) -> bool:
        """Whether time is over, or will be, before a model somewhere else answers that has answered before."""
        left, slack = self.clock.left, _SLACK
        if isinstance(error, RetryLaterError):
            # Only the last moments are given up for it; a search that could have gone on for long has failed.
            usual = 0.0 if self._last is None else _LAST_BATCHES * self._last[0]
            slack = max(slack, min(error.wait, max(usual, _LAST_SHARE * (self._budget.seconds or 0.0))))
        return self._evaluator.remote and self.spent.evaluations > 0 and left is not None and left <= slack

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
        new = self._found(part, said, is_new)
        if self._begun is not None:
            whole = self._whole(part, said, is_new)
            self._begun, said, is_new = None, whole.said, whole.is_new
        with self.stopwatch.measure("selection"):
            divergences = Divergences(said.divergence, said.triggers)
            self._strategy.tell(said.outputs_a, said.outputs_b, divergences, is_new)
        self._generation += 1
        self._keep(new, ids, self._strategy.state)

    def _whole(self, part: Batch, said: Evaluated, is_new: NDArray[np.bool_]) -> Begun:
        """All answers to the batch so far."""
        begun = Begun(said, is_new, image_ids(part.images))
        return begun if self._begun is None else self._begun.with_more(begun)

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

    def _keep(self, new: TriggerBatch, ids: NDArray[np.int64], state: Callable[[], State]) -> None:
        """Triggers and checkpoint are committed together; without a trigger, now and then."""
        self.spent = self.spent.model_copy(update={"unique": self.spent.unique + len(ids)})
        if not len(ids) and self._begun is None and not self._paid and self._quiet + 1 < QUIET_BATCHES:
            self._quiet += 1
            return
        self._quiet = 0
        with self.stopwatch.measure("archive"):
            checkpoint = self._checkpoint(state())
            if len(ids):
                self._archive.add(new, checkpoint, new_ids=ids)
            else:
                self._archive.save_checkpoint(checkpoint)
        for cell, count in cells_of(new).items():
            self.disagreement[cell] = self.disagreement.get(cell, 0) + count

    def _found(self, part: Batch, said: Evaluated, is_new: NDArray[np.bool_]) -> TriggerBatch:
        classes = self._evaluator.divergence.task == "classification"
        rows = np.flatnonzero(is_new)
        return found(part, said, rows, classes=classes, spent=self.spent, asked=self._asked, nth=self._generation + 1)

    def _checkpoint(self, state: State) -> dict[str, bytes]:
        begun = {} if self._begun is None else self._begun.to_state()
        return self._packer.pack(self.spent, {**state, **begun}, {"generation": self._generation})
