"""What a tuning leaves: the best generator in its folder, small folders of the trials, and a table of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffgan.drafts import replacing
from diffgan.errors import GeneratorError
from diffgan.gan_training.checkpoint import FILE as CHECKPOINT
from diffgan.gan_training.objective import Measured
from diffgan.gan_training.sharing import ARTIFACT, CARD, copy_result
from diffgan.gan_training.study import ABANDONED, DEFAULTS, FINAL, REASON
from diffgan.generators.card import Card
from diffgan.locks import locked

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

TRIALS, TABLE = "trials", "trials.csv"
#: A trial that scores above this has hardly begun to learn, and says nothing about its settings.
TOO_EARLY = 10.0

_LOCK = ".best.lock"

#: What only the best trial keeps, and there in the folder above; the page of a pruned one would renew itself for ever.
_LARGE = (*(name for name in ARTIFACT if name != CARD), CHECKPOINT, "watch.html")


@dataclass(frozen=True)
class TrialRow:
    """One trial, as it is printed and listed.

    Attributes:
        number: in the study.
        kind: `configured` (the settings as they are), `final` (the long one at the end) or `trial`.
        state: `complete`, `pruned`, `failed`, `running` or `waiting`.
        value: what is minimised: see `Objective`; of the last look, where it was pruned.
        fid, kid: where it is complete.
        seconds: of its training and its scores.
        updates: done.
        point: its values.
        reason: why it failed or ended early.
    """

    number: int
    kind: str
    state: str
    value: float | None
    fid: float | None
    kid: float | None
    seconds: float | None
    updates: int | None
    point: dict[str, Any] = field(default_factory=dict)
    reason: str = ""

    @classmethod
    def of(cls, trial: FrozenTrial) -> TrialRow:
        """From what the study knows."""
        facts = trial.user_attrs
        return cls(
            number=trial.number,
            kind="final" if facts.get(FINAL) else "configured" if facts.get(DEFAULTS) else "trial",
            state={"FAIL": "failed"}.get(trial.state.name, trial.state.name.lower()),
            value=trial.value if trial.state.is_finished() else None,
            fid=facts.get("fid"),
            kid=facts.get("kid"),
            seconds=facts.get("seconds"),
            updates=facts.get("updates"),
            point=trial.params,
            reason=str(facts.get(REASON, "")),
        )


def rows_of(study: Study) -> list[TrialRow]:
    """All trials that began, but those that were left behind and begun again."""
    trials = study.get_trials(deepcopy=False)
    return [
        TrialRow.of(trial) for trial in trials if trial.state.name != "WAITING" and not trial.user_attrs.get(ABANDONED)
    ]


def best_first(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """The complete ones, by their value."""
    return sorted((row for row in rows if row.state == "complete" and row.value is not None), key=_by_value)


def tells_nothing(best: TrialRow) -> bool:
    """Whether even the best of all trials is too poor to say anything about settings."""
    return best.value is not None and best.value > TOO_EARLY


def write_table(out: Path, rows: Sequence[TrialRow]) -> None:
    """`trials.csv`: one line for each trial.

    Raises:
        OSError: the disk refuses.
    """
    points = list(dict.fromkeys(name for row in rows for name in row.point))
    header = ["trial", "kind", "state", "score", "fid", "kid", "seconds", "updates", *points, "reason"]
    with replacing(out / TABLE) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in rows:
            figures = [row.value, row.fid, row.kid, row.seconds, row.updates]
            values = [row.point.get(name) for name in points]
            writer.writerow([row.number, row.kind, row.state, *figures, *values, row.reason])


def write_score(folder: Path, card: Card, measured: Measured, facts: dict[str, Any]) -> None:
    """Puts a trial's scores and where they come from into its card: from now on it may be the best one.

    Raises:
        OSError: the disk refuses.
    """
    tuning = {**facts, "score": measured.value, "fid": measured.fid, "kid": measured.kid}
    scored = card.model_copy(update={"training": {**card.training, "tuning": tuning}})
    with replacing(folder / CARD) as draft:
        draft.write_text(scored.model_dump_json(indent=1) + "\n", encoding="utf-8")


def settle(out: Path) -> None:
    """Moves the best generator of the scored trials up into the folder, and frees the space of all others.

    Several processes may do so at once. A trial that is still running has no score in its card, and is left alone.

    Raises:
        GeneratorError: the disk refuses; what was there stays.
    """
    try:
        with locked(out / _LOCK):
            for folder in sorted((out / TRIALS).glob("*")):
                score = score_in(folder)
                if score is None or not all((folder / name).is_file() for name in ARTIFACT):
                    continue
                best = score_in(out)
                if best is None or score < best:
                    copy_result(folder, out)
                drop_large(folder)
    except OSError as error:
        raise GeneratorError(f"The best generator cannot be kept in {out} ({error.strerror}): see the disk.") from error


def drop_large(folder: Path) -> None:
    """Frees the space of a trial that is not the best; its curves, samples and card stay."""
    for name in _LARGE:
        (folder / name).unlink(missing_ok=True)


def score_in(folder: Path) -> float | None:
    """The score in a folder's card; None where there is none."""
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        return float(card["training"]["tuning"]["score"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _by_value(row: TrialRow) -> float:
    return float("inf") if row.value is None else row.value
