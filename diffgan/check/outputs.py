"""Files that a check leaves: examples as images, and texts where the user wants them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from diffgan.archive import Archive
from diffgan.archive.export.names import safe_names
from diffgan.archive.export.png import encode_png
from diffgan.drafts import replacing
from diffgan.errors import ArchiveError, UsageError
from diffgan.images import ByteImages, hex_id
from diffgan.runs import RunFolder

if TYPE_CHECKING:
    from diffgan.check.outcomes import Answers, Integers
    from diffgan.check.result import Result

EXAMPLES, REGRESSIONS = "examples", "regressions.txt"


def prepare_file(flag: str, path: Path) -> None:
    """Makes the file's folder, and sees whether it can be written; what is in it stays.

    Raises:
        UsageError: it cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        there = path.exists()
        with path.open("a", encoding="utf-8"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise _refused(flag, path, error) from error


def write_text(flag: str, path: Path, text: str) -> None:
    """Writes in place: a CI system may hold the very file open that its job is to fill.

    Raises:
        UsageError: the disk refuses.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _refused(flag, path, error) from error


def write_regressions(result: Result, folder: RunFolder) -> None:
    """`regressions.txt`: what regresses and is not allowed to, of the suites and of the finds, as `--allow` takes it.

    Raises:
        ArchiveError: the disk refuses.
    """
    from diffgan.check.outcomes import Outcome
    from diffgan.check.policy import fails_in_suite

    lines: dict[str, None] = {}
    for answers in [*(part.answers for part in result.replayed), result.finds]:
        failing = set(fails_in_suite(result.policy, answers))
        for row in answers.rows(Outcome.REGRESSION).tolist():
            if int(answers.ids[row]) in failing:
                number, _, remark = result.described(answers, row).partition(": ")
                lines[f"{number}  # {' '.join(remark.split())}"] = None
    path = folder.path / REGRESSIONS
    try:
        with replacing(path) as draft:
            draft.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")
    except OSError as error:
        raise ArchiveError(f"{path} cannot be written ({error.strerror}): see the disk.") from error


def write_examples(result: Result, folder: RunFolder) -> None:
    """`examples/OUTCOME/PLACE-ID-old-LABEL-new-LABEL.png` of what the search and the labelled data have shown.

    Raises:
        ArchiveError: the disk refuses.
    """
    from diffgan.check.result import EXEMPLARY

    # Those of a former sitting may have had other labels.
    shutil.rmtree(folder.path / EXAMPLES, ignore_errors=True)
    with Archive.open(folder.archive, read_only=True) as archive:
        for outcome in EXEMPLARY:
            of_data, of_search = (result.examples(answers, outcome) for answers in (result.on_data, result.finds))
            target = folder.path / EXAMPLES / outcome
            _write(target / "data", result, result.on_data, of_data, result.data.images[of_data])
            if len(of_search):
                images = archive.find(result.finds.ids[of_search]).images
                _write(target / "search", result, result.finds, of_search, images)


def _write(target: Path, result: Result, answers: Answers, rows: Integers, images: ByteImages) -> None:
    if not len(rows):
        return
    names = safe_names(result.data.classes, result.models[0].class_count)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for place, (row, image) in enumerate(zip(rows.tolist(), images, strict=True), start=1):
            old, new = names[int(answers.old[row])], names[int(answers.new[row])]
            name = f"{place:02d}-{hex_id(int(answers.ids[row]))}-old-{old}-new-{new}.png"
            (target / name).write_bytes(encode_png(image))
    except OSError as error:
        raise ArchiveError(f"{target} cannot be written ({error.strerror}): see the disk.") from error


def _refused(flag: str, path: Path, error: OSError) -> UsageError:
    return UsageError(f"{flag} {path} cannot be written ({error.strerror or os.strerror(0)}): give another path.")
