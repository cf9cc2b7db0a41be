"""Labels from a project in Label Studio, as its exports JSON and JSON_MIN hold them.

JSON has `data`, `annotations` and `predictions` for each task; JSON_MIN has a flat row for each annotation. Which of
the two a file is, each of its items tells. `data.trigger` says which trigger a task shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffgan.errors import DataError, UsageError
from diffgan.images import id_from_hex
from diffgan.labels.consensus import is_machine
from diffgan.labels.json_lists import Item, read_items
from diffgan.labels.tables import Row, Table

TRIGGER = "trigger"
"""The field of a task's data that holds the trigger's id."""
CONTROL = "label"
"""The name of the choices in the labelling configuration."""

_SHOWN = 60


def read_tasks(path: Path, *, annotator: str | None = None) -> Table:
    """The labels of a file that Label Studio exported.

    What people skipped, tasks that nobody has labelled, and predictions by others than judges are passed over and
    counted. A prediction by a judge comes in where the archive has no label by that judge.

    Args:
        path: of the file.
        annotator: who says so, for a file that does not say.

    Raises:
        DataError: the file cannot be read, or is no such export; the message names the task.
        UsageError: nobody says who the annotator is, or both the file and the call do.
    """
    reading = _Reading((annotator or "").strip())
    rows = [row for item in read_items(path, what="task") for row in reading.rows(item)]
    # The latest label of a trigger by somebody counts, and the last one that comes in is the one that stays.
    rows.sort(key=lambda row: row.at)
    if annotator is not None and reading.named:
        raise UsageError(
            f"{path} says who labelled ({reading.named}), so --annotator {annotator} cannot: use --rename."
        )
    if reading.unnamed and not reading.annotator:
        raise UsageError(f"{reading.unnamed} does not say who labelled: say it with --annotator NAME.")
    return Table(rows, dict(reading.passed_over))


@dataclass
class _Reading:
    """Goes through the tasks, and remembers what it passed over and whether they name annotators."""

    annotator: str
    passed_over: Counter[str] = field(default_factory=Counter)
    named: str = ""
    unnamed: str = ""

    def rows(self, item: Item) -> Iterator[Row]:
        task = item.value
        if not isinstance(task, dict):
            raise DataError(f"{item.place} is {_shown(task)}; expected a task: export the project as JSON or JSON-MIN.")
        if isinstance(task.get("data"), dict):
            yield from self._of_task(item.place, task)
        elif TRIGGER in task:
            yield from self._of_flat_row(item.place, task)
        else:
            raise DataError(
                f"{item.place} has neither data, as in Label Studio's JSON, nor {TRIGGER}, as in its JSON_MIN of tasks "
                "that diffgan labels export wrote: export the project as one of these."
            )

    def _of_task(self, place: str, task: dict[str, Any]) -> Iterator[Row]:
        number = _trigger(place, task["data"])
        annotations = _dicts(place, task, "annotations")
        if not annotations:
            self.passed_over["tasks without annotations"] += 1
        for one in annotations:
            if one.get("was_cancelled"):
                self.passed_over["skipped tasks"] += 1
                continue
            choice = _choice(place, one)
            if choice is None:
                self.passed_over["annotations without a choice"] += 1
            else:
                yield Row(place, number, choice, self._who(place, one.get("completed_by")), at=_time(one))
        yield from self._of_judges(place, number, task.get("predictions"))

    def _of_judges(self, place: str, number: int, predictions: Any) -> Iterator[Row]:
        for one in predictions if isinstance(predictions, list) else []:
            name = one.get("model_version") if isinstance(one, dict) else None  # an export may have their numbers alone
            choice = _choice(place, one) if is_machine(str(name)) else None
            if choice is None:
                self.passed_over["predictions"] += 1
            else:
                yield Row(place, number, choice, str(name), replaces=False)

    def _of_flat_row(self, place: str, row: dict[str, Any]) -> Iterator[Row]:
        number = _trigger(place, row)
        if row.get(CONTROL) is None and row.get("annotation_id") is None:
            self.passed_over["tasks without annotations"] += 1
            return
        said = row.get(CONTROL)
        chosen = said.get("choices") if isinstance(said, dict) else said
        choice = _only(place, chosen if isinstance(chosen, list) else [] if chosen is None else [chosen])
        if choice is None:
            self.passed_over["annotations without a choice"] += 1
        else:
            yield Row(place, number, choice, self._who(place, row.get("annotator")), at=_time(row))

    def _who(self, place: str, user: Any) -> str:
        """A user's e-mail, or number where the file has no more."""
        if isinstance(user, dict):
            user = user.get("email") or user.get("id")
        if isinstance(user, int) and not isinstance(user, bool):
            user = f"user {user}"
        if user is not None and not isinstance(user, str):
            raise DataError(f"{place}: an annotation is by {_shown(user)}; expected a user's e-mail or number.")
        name = (user or "").strip()
        self.named, self.unnamed = self.named or name, self.unnamed or ("" if name else place)
        return name or self.annotator


def _time(entry: dict[str, Any]) -> str:
    return str(entry.get("updated_at") or entry.get("created_at") or "")


def _trigger(place: str, data: dict[str, Any]) -> int:
    text = data.get(TRIGGER)
    if not isinstance(text, str):
        raise DataError(
            f"{place} does not say which trigger it shows ({TRIGGER} is {_shown(text)}): label tasks that diffgan "
            "labels export wrote."
        )
    try:
        return id_from_hex(text)
    except DataError as error:
        raise DataError(f"{place}: {error}") from None


def _dicts(place: str, task: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = task.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise DataError(
            f"{place}: its {name} are {_shown(found)}; expected a list of objects: export the project with all of them."
        )
    return found


def _choice(place: str, annotation: dict[str, Any]) -> str | None:
    """The text that was chosen; None for an annotation that was submitted without a choice.

    A configuration may have other controls beside the one of the labels, or a single one of any name.
    """
    found = [one for one in _dicts(place, annotation, "result") if one.get("type") == "choices"]
    results = [one for one in found if one.get("from_name") == CONTROL] or found
    names = {str(one.get("from_name")) for one in results}
    if len(names) > 1:
        raise DataError(
            f"{place} has choices named {', '.join(sorted(names))}; expected one named {CONTROL}: rename it in the "
            "labelling configuration."
        )
    values = [one.get("value") for one in results]
    return _only(place, [text for value in values for text in _choices(place, value)])


def _choices(place: str, value: Any) -> list[Any]:
    chosen = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(chosen, list):
        raise DataError(f"{place}: a choice is {_shown(value)}; expected a value with a list choices.")
    return chosen


def _only(place: str, chosen: list[Any]) -> str | None:
    if len(chosen) > 1 or not all(isinstance(one, str) for one in chosen):
        raise DataError(f"{place} has the choices {_shown(chosen)}; expected one: a class, or invalid.")
    return str(chosen[0]) if chosen else None


def _shown(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
