"""The images that a report shows: triggers as items of the gallery, real ones and samples beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages, hex_id
from diffgan.report.album import Album, Sheet
from diffgan.report.cells import examples
from diffgan.report.labelled import Labelled
from diffgan.report.landscape import Landscape
from diffgan.report.measured import Measured
from diffgan.report.run import Rows, Run

_EXAMPLES, _EXAMPLE_BYTES = 800, 96 * 1024 * 1024
_FIRST_EXAMPLES = 300
_STRIP, _DROPPED = 18, 8


@dataclass(frozen=True)
class Item:
    """A trigger in the gallery; the thumbnails stand in the order of the items."""

    a: int
    b: int
    sure_a: float | None
    sure_b: float | None
    divergence: float
    id: str
    kept: bool
    cluster: int
    label: int

    def compact(self) -> list[object]:
        """As the page's script reads it."""
        return [
            self.a,
            self.b,
            self.sure_a,
            self.sure_b,
            float(f"{self.divergence:.4g}") if isfinite(self.divergence) else "infinite",
            self.id,
            int(self.kept),
            self.cluster,
            self.label,
        ]


@dataclass(frozen=True, eq=False)
class Exhibits:
    """All that is shown as pictures.

    Attributes:
        items: of the gallery.
        first: the thumbnail of the first item.
        by_sample: for each place of the landscape's sample, its item.
        sheet: their thumbnails, and then those below; None where there is no image.
        reals: thumbnails of the real images nearest to the clusters, by place in the data.
        real_strip, made_strip: thumbnails of some real images, and of some from the prior.
        dropped: thumbnails by filter.
        other: of another run.
    """

    items: list[Item]
    first: int
    by_sample: list[int]
    sheet: Sheet | None
    reals: dict[int, int]
    real_strip: list[int]
    made_strip: list[int]
    dropped: dict[str, list[int]]
    other: list[int]


def exhibits_of(
    run: Run, landscape: Landscape | None, measured: Measured, labelled: Labelled | str, other: Run | None
) -> Exhibits:
    """Chooses and reads the images."""
    album, rng = Album(run.spec), np.random.default_rng(0)
    dataset = None if isinstance(measured.dataset, str) else measured.dataset
    aside: list[list[int]] = []
    nearest = sorted({one.real for one in landscape.clusters if one.real is not None}) if landscape else []
    if dataset is not None:
        aside.append(album.add(dataset.images[nearest]))
        shown = rng.choice(len(dataset), min(_STRIP, len(dataset)), replace=False)
        aside.append(album.add(dataset.images[shown]))
    made = album.add(measured.samples[:_STRIP]) if measured.samples is not None else []
    dropped = {}
    for name, (_, failed) in run.verdicts.items():
        if failed:
            rows = run.dropped_by(name)
            dropped[name] = album.add(run.triggers(_some(rows, _DROPPED, rng)).images)
    beside = album.add(_images_of(other, rng)) if other is not None and other.spec == run.spec else []
    before = sum(map(len, [*aside, made, *dropped.values(), beside]))
    items, by_sample, images = _gallery(run, landscape, labelled, rng)
    album.add(images)
    reals, real_strip = (aside[0], aside[1]) if aside else ([], [])
    return Exhibits(
        items=items,
        first=before,
        by_sample=by_sample,
        sheet=album.sheet(),
        reals=dict(zip(nearest, reals, strict=True)) if reals else {},
        real_strip=real_strip,
        made_strip=made,
        dropped=dropped,
        other=beside,
    )


def _gallery(
    run: Run, landscape: Landscape | None, labelled: Labelled | str, rng: np.random.Generator
) -> tuple[list[Item], list[int], ByteImages]:
    """Items, the item of each place of the sample, and the images of the items."""
    nothing = np.zeros((0, run.spec.height, run.spec.width, run.spec.channels), dtype=np.uint8)
    if landscape is None:
        return [], [], nothing
    sample = landscape.rows
    most = min(_EXAMPLES, max(_STRIP, _EXAMPLE_BYTES // int(np.prod(run.spec.shape))))
    others = examples(run, most, rng)
    # The representatives first, then another of each cluster, and so on.
    turns = zip_longest(*(cluster.members for cluster in landscape.clusters))
    of_clusters = (place for turn in turns for place in turn if place is not None)
    first = sample[[*of_clusters, *landscape.front]].tolist()
    order = _different([*first, *others[:_FIRST_EXAMPLES], *sample, *others])
    more = np.array([row for row in order if row not in set(sample.tolist())], dtype=np.int64)
    extra = run.triggers(more) if len(more) else None
    where = {row: (landscape.triggers, place) for place, row in enumerate(sample.tolist())}
    if extra is not None:
        where |= {row: (extra, place) for place, row in enumerate(more.tolist())}
    cluster = dict(zip(sample.tolist(), landscape.cluster.tolist(), strict=True))
    items = []
    for row in order:
        triggers, place = where[row]
        a, b = int(run.columns["label_a"][row]), int(run.columns["label_b"][row])
        items.append(
            Item(
                a=a,
                b=b,
                sure_a=_sure(triggers.outputs_a[place], a),
                sure_b=_sure(triggers.outputs_b[place], b),
                divergence=float(run.columns["divergence"][row]),
                id=hex_id(int(run.columns["ids"][row])),
                kept=bool(run.kept[row]),
                cluster=cluster.get(row, -1),
                label=-2 if isinstance(labelled, str) else int(labelled.label[row]),
            )
        )
    images = np.stack([where[row][0].images[where[row][1]] for row in order])
    item = {row: place for place, row in enumerate(order)}
    return items, [item[row] for row in sample.tolist()], images


def _sure(outputs: NDArray[np.float32], label: int) -> float | None:
    """The probability that a model gives its label; None where its outputs are no probabilities of classes."""
    if outputs.ndim != 1 or not 0 <= label < len(outputs) or not np.isfinite(outputs[label]):
        return None
    return round(float(outputs[label]), 3)


def _different(rows: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(int(row) for row in rows))


def _some(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _images_of(run: Run, rng: np.random.Generator) -> ByteImages:
    rows = run.best_rows
    return run.triggers(_some(rows, _STRIP, rng)).images
