"""A run's triggers as tasks for Label Studio, their images inside, and the labelling configuration beside them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.archive.export.png import encode_png
from diffgan.archive.publish import published
from diffgan.errors import UsageError
from diffgan.images import ByteImages, hex_id
from diffgan.labels.annotators import check_annotator
from diffgan.labels.conflicts import conflicts
from diffgan.labels.consensus import Role, role_of
from diffgan.labels.label_studio import CONTROL, TRIGGER
from diffgan.labels.texts import INVALID, ClassTexts

Progress = Callable[[int, int], None]

_IMAGE = "image"
_KEYS = 10
"""So many classes have the digits as keys; more are searched for in a list."""


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """Which triggers go out, and with which labels.

    Attributes:
        kept_only: leave out what a filter has rejected.
        conflicts_only: only those whose labels conflict.
        sample: so many at random of these; all by default.
        seed: for the sample.
        annotator: whose labels; everybody's by default.
        blank: leave all labels out, so that whoever labels them sees none.
    """

    kept_only: bool = False
    conflicts_only: bool = False
    sample: int | None = None
    seed: int = 0
    annotator: str | None = None
    blank: bool = False


@dataclass(frozen=True)
class Written:
    """What came into a file of tasks.

    Attributes:
        tasks: how many.
        labels: how many labels of people.
        predictions: how many labels of judges.
        strangers: annotators whose names are no e-mail, whom Label Studio refuses.
    """

    tasks: int
    labels: int
    predictions: int
    strangers: tuple[str, ...]


def write_tasks(archive: Archive, path: Path, tasks: Tasks, *, progress: Progress | None = None) -> Written:
    """Writes tasks, in order of discovery, to a file that does not exist yet, and the configuration to its `.xml`.

    People's labels are annotations, by name as e-mail; those of judges are predictions.

    Args:
        archive: to read from.
        path: the file, which appears whole or not at all, as its configuration does.
        tasks: which triggers, and which labels.
        progress: called with the triggers that were gone through, and those there are.

    Raises:
        UsageError: there are not so many triggers, or none at all, or the run has no classes, or nobody of that name
            has labelled anything.
        ArchiveError: a file exists, or the disk refuses.
    """
    if tasks.annotator is not None:
        check_annotator(archive, tasks.annotator)
    wanted, texts = _wanted(archive, tasks), ClassTexts.of(archive)
    if texts.count is None:
        raise UsageError(f"{archive.path} does not say which classes there are, so there is nothing to choose from.")
    writer = _Writer(texts, tasks)
    with published(path) as draft, published(configuration_path(path)) as configuration:
        with draft.open("w", encoding="utf-8") as file:
            start = "[\n"
            for task in writer.tasks(archive, wanted, progress):
                file.write(start + json.dumps(task, separators=(",", ":")))
                start = ",\n"
            file.write("\n]\n")
        configuration.write_text(labelling_configuration(texts), encoding="utf-8")
    return Written(len(wanted), writer.labels, writer.predictions, tuple(sorted(writer.strangers)))


def configuration_path(path: Path) -> Path:
    """Where the labelling configuration of a file of tasks stands."""
    return path.with_name(f"{path.name.removesuffix('.json')}.xml")


def labelling_configuration(texts: ClassTexts) -> str:
    """What Label Studio asks for in a project's labelling interface: an image, and one choice."""
    view = ElementTree.Element("View")
    picture = {"name": _IMAGE, "value": f"${_IMAGE}", "smoothing": "false", "zoom": "true"}
    ElementTree.SubElement(view, "Image", picture)
    few = (texts.count or 0) <= _KEYS
    layout = {"showInline": "true"} if few else {"layout": "select"}
    choices = {"name": CONTROL, "toName": _IMAGE, "choice": "single", "required": "true", **layout}
    group = ElementTree.SubElement(view, "Choices", choices)
    for label in range(texts.count or 0):
        key = {"hotkey": str(label)} if few else {}
        ElementTree.SubElement(group, "Choice", {"value": choice_of(texts, label), **key})
    ElementTree.SubElement(group, "Choice", {"value": INVALID, **({"hotkey": "x"} if few else {})})
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def choice_of(texts: ClassTexts, label: int | None) -> str:
    """A class as Label Studio shows and keeps it: its name, or its number where XML or a page would change the name."""
    text = texts.write(label)
    is_plain = text.isprintable() and text == " ".join(text.split())
    return text if label is None or is_plain else texts.number(label)


@dataclass
class _Writer:
    texts: ClassTexts
    wishes: Tasks
    labels: int = 0
    predictions: int = 0
    strangers: set[str] = field(default_factory=set)

    def tasks(self, archive: Archive, wanted: NDArray[np.int64], progress: Progress | None) -> Iterator[dict[str, Any]]:
        total, chosen = archive.count(), set(wanted.tolist())
        for page in archive.stream("numbers", "ids", "images"):
            said = archive.labels.between(int(page["numbers"][0]), int(page["numbers"][-1]))
            for number, trigger, image in zip(
                page["numbers"].tolist(), page["ids"].tolist(), page["images"], strict=True
            ):
                if trigger in chosen:
                    yield self._task(hex_id(trigger), image, said.get(number, {}))
            if progress is not None:
                progress(int(page["numbers"][-1]), total)

    def _task(self, trigger: str, image: ByteImages, said: Mapping[str, int | None]) -> dict[str, Any]:
        task: dict[str, Any] = {"data": {_IMAGE: _uri(image), TRIGGER: trigger}, "annotations": [], "predictions": []}
        for number, name in enumerate(sorted(said)):
            if self.wishes.blank or self.wishes.annotator not in (None, name):
                continue
            result = [self._result(f"{trigger}-{number}", said[name])]
            role = role_of(name)
            if role is Role.JUDGE:
                self.predictions += 1
                task["predictions"].append({"model_version": name, "result": result})
                continue
            self.labels += 1
            if "@" not in name:
                self.strangers.add(name)
            is_final = role is Role.DECIDER
            task["annotations"].append({"completed_by": {"email": name}, "ground_truth": is_final, "result": result})
        return task

    def _result(self, name: str, label: int | None) -> dict[str, Any]:
        value = {"choices": [choice_of(self.texts, label)]}
        return {"id": name, "from_name": CONTROL, "to_name": _IMAGE, "type": "choices", "value": value}


def _wanted(archive: Archive, tasks: Tasks) -> NDArray[np.int64]:
    ids = archive.column("ids", kept_only=tasks.kept_only)
    if tasks.conflicts_only:
        open_ones = np.array([one.id for one in conflicts(archive)], dtype=np.int64)
        ids = ids[np.isin(ids, open_ones)]
    if not len(ids):
        raise UsageError(f"There is no such trigger in {archive.path}, so there is nothing to label.")
    if tasks.sample is None:
        return ids
    if not 0 < tasks.sample <= len(ids):
        raise UsageError(
            f"A sample of {tasks.sample:,} was asked for; expected 1 to {len(ids):,}, which is all there are."
        )
    places = np.random.default_rng(tasks.seed).choice(len(ids), size=tasks.sample, replace=False)
    return ids[np.sort(places)]


def _uri(image: ByteImages) -> str:
    return f"data:image/png;base64,{base64.b64encode(encode_png(image)).decode('ascii')}"
