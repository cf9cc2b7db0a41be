"""What the labels of a run's triggers say: who is right, how many are valid; and its selector."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DiffganError
from diffgan.filters.validity import MARGIN, ValidityRatio, labels_needed, sampling_doubts, validity_ratio
from diffgan.labels import consensus
from diffgan.report.run import Rows, Run
from diffgan.selection.card import Card, read_card

#: A random sample raises a doubt about as seldom as this.
_SELDOM = 0.001
#: Labelled triggers of a kind, on average, for it to be counted by itself.
_LEAST_EXPECTED = 10


@dataclass(frozen=True, eq=False)
class Labelled:
    """What the labels say.

    Attributes:
        annotators: how many triggers each has labelled.
        triggers: labelled by anybody.
        conflicts: those on which no label has most voices.
        by_machine: those that judges alone have labelled.
        only_a, only_b, neither: of the triggers with a settled class, on which A, B or none of them is right.
        invalid: settled to show no class.
        validity: of all triggers.
        kept_validity: of those that all filters passed; None where nothing is filtered.
        label: the settled class by trigger; -1 for invalid, -2 for none.
    """

    annotators: dict[str, int]
    triggers: int
    conflicts: int
    by_machine: int
    only_a: int
    only_b: int
    neither: int
    invalid: int
    validity: ValidityRatio
    kept_validity: ValidityRatio | None
    label: Rows


def labelled_of(run: Run) -> Labelled | str:
    """What the labels say, or that there are none."""
    if not len(run):
        return "There is no trigger to label."
    if not len(run.labels):
        needed = labels_needed(MARGIN, population=len(run))
        return (
            f"None of the {len(run):,} triggers is labelled, so it is not known how many are valid, and who is right. "
            f"{needed:,} labels of triggers drawn at random tell the share of valid ones to ± 5 %."
        )
    said = consensus(run.labels)
    place = {number: row for row, number in enumerate(run.columns["ids"].tolist())}
    rows = np.array([place[number] for number in said.ids.tolist()], dtype=np.int64)
    label = np.full(len(run), -2, dtype=np.int64)
    settled = np.array([-1 if one is None else one for one in said.classes], dtype=np.int64)
    label[rows[said.settled]] = settled[said.settled]
    shows, a, b = label >= 0, run.columns["label_a"], run.columns["label_b"]
    names: dict[str, int] = {}
    for annotator in run.labels.annotators:
        names[annotator] = names.get(annotator, 0) + 1
    known = said.validity_settled
    return Labelled(
        annotators=names,
        triggers=len(said),
        conflicts=said.conflicts,
        by_machine=int(said.by_machine.sum()),
        only_a=int((shows & (label == a) & (a != b)).sum()),
        only_b=int((shows & (label == b) & (a != b)).sum()),
        neither=int((shows & (label != a) & (label != b)).sum()),
        invalid=int((label == -1).sum()),
        validity=_validity(run, rows[known], said.valid[known], kept_only=False),
        kept_validity=_validity(run, rows[known], said.valid[known], kept_only=True) if run.is_filtered else None,
        label=label,
    )


def selector_of(run: Run, given: Path | None) -> Card | str:
    """The card of a selector, where one is named or lies in the run's folder."""
    folder = given or run.path / "selector"
    if given is None and not folder.is_dir():
        return "No selector was named for this report: diffgan select train makes one, and --selector DIR shows it."
    try:
        return read_card(folder)
    except DiffganError as error:
        return str(error)


def _validity(run: Run, rows: Rows, valid: NDArray[np.bool_], *, kept_only: bool) -> ValidityRatio:
    kept, has_label = run.kept, np.zeros(len(run), dtype=np.bool_)
    has_label[rows] = True
    kinds = run.columns["label_a"] * (1 << 32) + run.columns["label_b"]
    if kept_only:
        valid = valid[kept[rows]]
        doubts = (*sampling_doubts(has_label[kept]), *kinds_doubt(kinds[kept], has_label[kept]))
        return validity_ratio(int(valid.sum()), len(valid), int(kept.sum()), doubts=doubts)
    doubts = (*sampling_doubts(has_label, kept=kept if run.is_filtered else None), *kinds_doubt(kinds, has_label))
    return validity_ratio(int(valid.sum()), len(rows), len(run), doubts=doubts)


def kinds_doubt(kinds: Rows, labelled: NDArray[np.bool_]) -> tuple[str, ...]:
    """Why the labelled triggers may be no random sample: they are of other kinds than all, as where one of each cluster
    is labelled first.

    Args:
        kinds: a number for each trigger's pair of labels.
        labelled: whether it is labelled.

    Returns:
        Nothing, or a clause that one random sample in a thousand would earn.
    """
    from scipy.stats import chi2

    total, sample = len(labelled), int(labelled.sum())
    if sample in (0, total):
        return ()
    _, kind = np.unique(kinds, return_inverse=True)
    expected = np.bincount(kind) * sample / total
    # Rare kinds count as one: where few are expected, the statistic is not known well.
    kind, expected = _pooled(kind, expected)
    seen = np.bincount(kind[labelled], minlength=len(expected))
    statistic = float(((seen - expected) ** 2 / expected).sum()) * (total - 1) / (total - sample)
    if len(expected) < 2 or chi2.sf(statistic, len(expected) - 1) > _SELDOM:
        return ()
    return ("the labelled ones are of other kinds (label of A, label of B) than all",)


def _pooled(kind: Rows, expected: NDArray[np.float64]) -> tuple[Rows, NDArray[np.float64]]:
    """The same, with all kinds of small expectation as one, the last."""
    rare = expected < _LEAST_EXPECTED
    number = np.where(rare, (~rare).sum(), np.cumsum(~rare) - 1)
    return number[kind], np.bincount(number, weights=expected).astype(np.float64)
