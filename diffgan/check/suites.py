"""Suites: disagreements to show again to every new model, from a run's archive or saved for version control."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from diffgan.archive import Archive
from diffgan.check.outcomes import INVALID, UNLABELLED, Answers, Integers, ask, joined
from diffgan.datasets import Dataset
from diffgan.drafts import replacing
from diffgan.errors import DataError, UsageError
from diffgan.images import ByteImages, ImageSpec, check_bytes, hex_id, id_from_hex, image_ids
from diffgan.labels import consensus, is_machine
from diffgan.models.classifier import Classifier
from diffgan.runs import RunFolder

MANIFEST, IMAGES = "suite.json", "suite.npz"

#: Beyond the pixels, what the header of an array takes.
_HEADER = 4096

Pages = Callable[[], Iterator[tuple[Integers, ByteImages]]]


@dataclass(frozen=True, eq=False)
class Suite:
    """Labelled and unlabelled disagreements.

    Attributes:
        name: the path, as it was given.
        spec: the size of the images.
        classes: the names of the classes, where they have any.
        data: the fingerprint of the data that they were found for, where it is known.
        labels: the class, `UNLABELLED` or `INVALID` by the image's id.
        machine: the ids that judges alone have labelled.
        pages: the images, a part at a time, with their ids.
    """

    name: str
    spec: ImageSpec
    classes: tuple[str, ...] | None
    data: str | None
    labels: dict[int, int]
    machine: frozenset[int]
    pages: Pages

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def fingerprint(self) -> str:
        """The same for the same images and labels."""
        rows = sorted((hex_id(number), label) for number, label in self.labels.items())
        return hashlib.sha256(repr(rows).encode()).hexdigest()[:32]

    @property
    def labelled(self) -> int:
        """How many show a class, as somebody says."""
        return sum(label >= 0 for label in self.labels.values())

    def replay(self, models: tuple[Classifier, Classifier]) -> Answers:
        """Shows its images, byte for byte, to both models.

        Raises:
            ModelError: a model failed.
        """
        return joined(
            [
                ask(models, ids, images, np.array([self.labels[number] for number in ids.tolist()], dtype=np.int64))
                for ids, images in self.pages()
            ]
        )


def read_suite(path: Path, data: Dataset) -> Suite:
    """The suite in a folder: a run's, or a saved one.

    Raises:
        UsageError: there is none.
        DataError: it is empty, damaged, or of other images or classes than the data.
        ArchiveError: the run's archive cannot be read.
    """
    if (path / MANIFEST).is_file():
        suite = _saved(path)
    elif (path / "archive.db").is_file():
        suite = _of_run(path)
    else:
        given = "holds no suite" if path.is_dir() else "is no folder"
        raise UsageError(f"--suite {path} {given}: give a run's folder, or what --save-suite wrote.")
    if not len(suite):
        raise DataError(f"--suite {path} has no triggers to replay, labelled or kept by filters: leave it out.")
    if suite.spec != data.spec:
        raise DataError(
            f"--suite {path} has images of {suite.spec}, but {data.name} has {data.spec}: give a suite of this data."
        )
    if suite.classes is not None and suite.classes != data.classes:
        raise DataError(
            f"--suite {path} has other classes ({', '.join(suite.classes[:5])}, …) than {data.name} "
            f"({', '.join(data.classes[:5])}, …): give a suite of this data."
        )
    return suite


def labels_in(archive: Archive, *, judges: Collection[str] | None = None) -> tuple[dict[int, int], frozenset[int]]:
    """What most say of the triggers where that is settled, a class or `INVALID`; and which ids judges alone have.

    Args:
        archive: to read.
        judges: those that count, by the names of their labels; None: all do.
    """
    read = archive.labels.read()
    if judges is not None:
        read = read.without(name for name in read.annotators if is_machine(name) and name not in judges)
    said = consensus(read)
    labels = {
        number: INVALID if label is None else label
        for number, label, settled in zip(said.ids.tolist(), said.classes, said.settled.tolist(), strict=True)
        if settled
    }
    return labels, frozenset(said.ids[said.by_machine].tolist()) & labels.keys()


def _of_run(path: Path) -> Suite:
    """What of a run is worth showing again: what is labelled, and what the filters have let pass."""
    with Archive.open(path / "archive.db", read_only=True) as archive:
        known, machine = labels_in(archive)
        wanted = set(known) | set(archive.column("ids", kept_only=True).tolist())
        spec, classes = archive.image_spec, archive.class_names
    config = RunFolder(path).config() if (path / "config.yaml").is_file() else {}
    named = config.get("data")
    found_for = named.get("fingerprint") if isinstance(named, dict) else None
    labels = {number: known.get(number, UNLABELLED) for number in sorted(wanted)}

    def pages() -> Iterator[tuple[Integers, ByteImages]]:
        with Archive.open(path / "archive.db", read_only=True) as archive:
            for page in archive.stream("ids", "images"):
                rows = np.flatnonzero([number in labels for number in page["ids"].tolist()])
                if len(rows):
                    yield page["ids"][rows], page["images"][rows]

    return Suite(str(path), spec, classes, found_for, labels, machine, pages)


class _Trigger(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    label: Annotated[int, Field(ge=0, strict=True)] | Literal["invalid"] | None
    by: Literal["people", "judges"] | None = None


class _Manifest(BaseModel):
    """What `suite.json` says; the images stand in `suite.npz`, in the order of the triggers."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal["diffgan-suite-1"] = "diffgan-suite-1"
    image: tuple[int, int, int]
    classes: tuple[str, ...] | None
    data: str | None
    triggers: tuple[_Trigger, ...]


def write_suite(
    path: Path, data: Dataset, *, images: ByteImages, labels: dict[int, int], machine: frozenset[int]
) -> None:
    """Saves a suite, sorted by id, with nothing in it that changes from one day to the next.

    Args:
        path: a folder; a suite that is there is replaced.
        data: what the images were found for.
        images: uint8, N x H x W x C, all different.
        labels: the class, `UNLABELLED` or `INVALID` by the image's id.
        machine: the ids that judges alone have labelled.

    Raises:
        UsageError: it cannot be written.
    """
    by_id = sorted(zip(map(hex_id, image_ids(images)), range(len(images)), strict=True))
    triggers = tuple(_described(id_from_hex(text), labels, machine) for text, _ in by_id)
    manifest = _Manifest(image=data.spec.shape, classes=data.classes, data=data.fingerprint, triggers=triggers)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with replacing(path / IMAGES) as draft, draft.open("wb") as file:
            np.savez(file, images=images[[row for _, row in by_id]])
        with replacing(path / MANIFEST) as draft:
            draft.write_text(_as_text(manifest), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--save-suite {path} cannot be written ({error.strerror}): give another folder.") from error


def check_destination(path: Path) -> None:
    """Refuses a folder that holds something else than a suite.

    Raises:
        UsageError: it does.
    """
    # Of a suite that was never saved whole, only the images may be there.
    if path.exists() and not (
        path.is_dir() and ((path / MANIFEST).is_file() or {entry.name for entry in path.iterdir()} <= {IMAGES})
    ):
        raise UsageError(f"--save-suite {path} is there, and is no suite: give a new folder, or that of a saved suite.")


def _described(number: int, labels: dict[int, int], machine: frozenset[int]) -> _Trigger:
    label = labels[number]
    if label == UNLABELLED:
        return _Trigger(id=hex_id(number), label=None)
    return _Trigger(
        id=hex_id(number),
        label="invalid" if label == INVALID else label,
        by="judges" if number in machine else "people",
    )


def _as_text(manifest: _Manifest) -> str:
    """One line a trigger, so that a change of one is a change of one line."""
    content = manifest.model_dump(mode="json", exclude={"triggers"})
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}," for name, value in content.items()]
    rows = ",\n".join("  " + trigger.model_dump_json() for trigger in manifest.triggers)
    return "{\n" + "\n".join(lines) + f'\n "triggers": [\n{rows}\n ]\n}}\n'


def _saved(path: Path) -> Suite:
    manifest = _read_manifest(path / MANIFEST)
    ids = np.array([id_from_hex(trigger.id) for trigger in manifest.triggers], dtype=np.int64)
    spec = ImageSpec(*manifest.image)
    images = _read_images(path / IMAGES, spec, len(ids))
    if not np.array_equal(image_ids(images), ids) or len(np.unique(ids)) != len(ids):
        raise _damaged(path / IMAGES, "its images are not those that suite.json names")
    most = len(manifest.classes) if manifest.classes is not None else None
    labels: dict[int, int] = {}
    for number, trigger in zip(ids.tolist(), manifest.triggers, strict=True):
        if isinstance(trigger.label, int) and most is not None and trigger.label >= most:
            raise _damaged(path / MANIFEST, f"trigger {trigger.id} has the label {trigger.label} of {most} classes")
        labels[number] = _label_of(trigger)
    machine = frozenset(
        number for number, trigger in zip(ids.tolist(), manifest.triggers, strict=True) if trigger.by == "judges"
    )
    return Suite(str(path), spec, manifest.classes, manifest.data, labels, machine, lambda: iter([(ids, images)]))


def _label_of(trigger: _Trigger) -> int:
    if trigger.label is None:
        return UNLABELLED
    return INVALID if trigger.label == "invalid" else trigger.label


def _read_manifest(path: Path) -> _Manifest:
    try:
        return _Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _damaged(path, f"{place + ': ' if place else ''}{first['msg']}") from error
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def _read_images(path: Path, spec: ImageSpec, count: int) -> ByteImages:
    """The images, once it is certain that they take no more memory than the manifest says."""
    channels, height, width = spec.shape
    try:
        with zipfile.ZipFile(path) as file:
            size = file.getinfo("images.npy").file_size
        if size > count * channels * height * width + _HEADER:
            raise ValueError("its images are more than suite.json says")
        with np.load(path, allow_pickle=False) as arrays:
            images: NDArray[Any] = arrays["images"]
        if images.shape != (count, height, width, channels):
            raise ValueError(f"it holds images of shape {images.shape}, not {(count, height, width, channels)}")
        return check_bytes(images, str(path))
    except DataError as error:
        raise _damaged(path, str(error)) from error
    except Exception as error:  # A damaged zip or header raises nearly anything.
        raise _damaged(path, str(error) or type(error).__name__) from error


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} is damaged ({reason.rstrip('.')}): bring it back from version control, or save the suite again."
    )
