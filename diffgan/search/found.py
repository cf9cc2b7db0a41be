"""What a batch brought, as the archive takes it: new triggers, and where in the search they were found."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import TriggerBatch
from diffgan.search.budgets import Spent
from diffgan.search.evaluation import Evaluated
from diffgan.search.strategies.protocol import Batch


def found(
    part: Batch,
    said: Evaluated,
    rows: NDArray[np.int64],
    *,
    classes: bool,
    spent: Spent,
    asked: tuple[int, int],
    nth: int,
) -> TriggerBatch:
    """The triggers in some rows of a batch, or of a part of it.

    Args:
        part: what both models were shown.
        said: their answers.
        rows: those of the triggers that the archive is to take.
        classes: whether answers are of classes, and so have labels.
        spent: up to here, this part included.
        asked: queries of each model before this part.
        nth: the batch's number, from 1.
    """
    count, before = len(rows), spent.evaluations - len(part)
    # Confirmations come after the batch: they count from the next one on.
    places = rows + 1
    asked_a, asked_b = asked
    return TriggerBatch(
        images=part.images[rows],
        outputs_a=said.outputs_a[rows],
        outputs_b=said.outputs_b[rows],
        label_a=said.outputs_a[rows].argmax(axis=1) if classes else None,
        label_b=said.outputs_b[rows].argmax(axis=1) if classes else None,
        divergence=said.divergence[rows],
        evaluation=before + places,
        generation=np.full(count, nth, dtype=np.int64),
        seconds=np.full(count, spent.seconds),
        queries_a=asked_a + places,
        queries_b=asked_b + places,
        latents=None if part.latents is None else part.latents[rows],
        classes=None if part.classes is None else part.classes[rows],
        seed_index=None if part.seed_index is None else part.seed_index[rows],
        # Evaluations count from 0 in a batch, and from 1 in the archive, where 0 is none.
        parent=None if part.parent is None else part.parent[rows] + 1,
    )


def cells_of(triggers: TriggerBatch) -> Counter[tuple[int, int]]:
    """How many there are by label of A and label of B; none for a task without labels."""
    if triggers.label_a is None or triggers.label_b is None:
        return Counter()
    return Counter(zip(triggers.label_a.tolist(), triggers.label_b.tolist(), strict=True))
