"""A table of which model to trust on each image, and what it answers."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from diffgan.archive.publish import published
from diffgan.images import to_floats
from diffgan.labels.texts import to_cell
from diffgan.selection.pictures import Pictures
from diffgan.selection.selector import Selector

HEADER = ("image", "model", "probability", "label", "confidence")
_BLOCK = 1000


def write_choices(
    selector: Selector, pictures: Pictures, out: Path, *, progress: Callable[[int, int], None] = lambda *_: None
) -> int:
    """A row for each image: the model asked, how probably it is the right one, its label and how sure it is.

    Args:
        selector: with both models open.
        pictures: of its size.
        out: the CSV file, which appears whole or not at all.
        progress: called with images done, and all.

    Returns:
        On how many images B was asked.

    Raises:
        DiffganError: a model failed, or the file cannot be written.
    """
    names, classes, asked_b = selector.card.pair.names, selector.card.data.class_names, 0
    with published(out) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(HEADER)
        for start in range(0, len(pictures.images), _BLOCK):
            said = selector.select(to_floats(pictures.images[start : start + _BLOCK]))
            labels = said.answers.argmax(axis=1).tolist()
            for row, label in enumerate(labels):
                table.writerow(
                    [
                        to_cell(pictures.names[start + row]),
                        to_cell(names[int(said.chose_b[row])]),
                        f"{said.probability[row]:.4f}",
                        to_cell(classes[label] if label < len(classes) else str(label)),
                        f"{said.answers[row, label]:.4f}",
                    ]
                )
            asked_b += int(said.chose_b.sum())
            progress(start + len(labels), len(pictures.images))
    return asked_b
