"""Judges what a run archived, outside its clock: exact, whatever the number of triggers.

An archive may hold hundreds of thousands of triggers of which few are valid. So it is read page by page, a model of the
judge is no longer asked about an image that cannot become valid whatever the rest of the judge says, and only what is
valid is held and packed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.features.ensemble import FeatureModel, Float32s
from diffgan.features.judge import Judge, Verdicts
from diffgan.images import ByteImages, FloatImages, to_floats
from diffgan.stats import Measurement

#: Sums of probabilities are float32: what is nearer than this to being possible is asked about.
_SLACK = 1e-4

_COLUMNS = ("images", "label_a", "label_b", "seconds", "queries_a", "queries_b")


@dataclass(frozen=True, eq=False)
class Judged:
    """The valid triggers of a run, measured.

    Attributes:
        measured: the yardstick is the whole archive's; positions are those among the valid ones.
        seconds: when each valid trigger was found.
        queries: to both models, by then.
        label_a, label_b, judged: of each valid trigger.
    """

    measured: Measurement
    seconds: NDArray[np.float64]
    queries: NDArray[np.int64]
    label_a: NDArray[np.int64]
    label_b: NDArray[np.int64]
    judged: NDArray[np.int64]

    def who_is_right(self) -> tuple[int, int, int]:
        """Valid triggers that only A has right, only B, and neither."""
        right_a, right_b = self.label_a == self.judged, self.label_b == self.judged
        return int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum()), int((~right_a & ~right_b).sum())


def judge_archive(judge: Judge, archive: Archive, *, found: int) -> Judged:
    """Measures an archive of unique triggers.

    Args:
        judge: calibrated with distances.
        archive: of a run.
        found: how many triggers the search found, copies included.
    """
    return judge_pages(judge, archive.stream(*_COLUMNS), found=found)


def judge_pages(judge: Judge, pages: Iterable[Mapping[str, NDArray[Any]]], *, found: int) -> Judged:
    """The same for pages of an archive's columns, no image twice."""
    unique, kept, verdicts = 0, [_no_rows(judge)], [judge.verdicts(_no_rows(judge)["images"])]
    for page in pages:
        rows, said = valid_ones(judge, page["images"])
        unique += len(page["images"])
        if len(rows):
            kept.append({name: page[name][rows] for name in _COLUMNS})
            verdicts.append(said)
    valid = {name: np.concatenate([page[name] for page in kept]) for name in _COLUMNS}
    said = _joined(verdicts[1:] or verdicts)
    measured = judge.measure(valid["images"], valid["label_a"], valid["label_b"], verdicts=said)
    count = len(valid["images"])
    figures = replace(measured.yardstick, triggers=found, unique=unique, share_valid=count / unique if unique else None)
    return Judged(
        measured=replace(measured, yardstick=figures),
        seconds=valid["seconds"],
        queries=valid["queries_a"] + valid["queries_b"],
        label_a=valid["label_a"],
        label_b=valid["label_b"],
        judged=said.label,
    )


def valid_ones(judge: Judge, images: ByteImages) -> tuple[NDArray[np.int64], Verdicts]:
    """The places of the images that the judge finds valid, and its verdicts on these: as `Judge.verdicts` has them."""
    if not len(images):
        return np.empty(0, dtype=np.int64), judge.verdicts(images)
    starts = range(0, len(images), judge.batch)
    parts = [_valid_part(judge, images[start : start + judge.batch]) for start in starts]
    rows = np.concatenate([start + part[0] for start, part in zip(starts, parts, strict=True)])
    return rows, _joined([part[1] for part in parts])


def _valid_part(judge: Judge, images: ByteImages) -> tuple[NDArray[np.int64], Verdicts]:
    floats, rows = to_floats(images), np.arange(len(images))
    total, features = _asked_first(judge, floats)
    for place, model in enumerate(judge.models[1:], 1):
        # Each model that is still to be asked may give a class 1 at most.
        possible = total.max(axis=1) + (len(judge.models) - place) > judge.threshold * len(judge.models) - _SLACK
        rows, total, features = rows[possible], total[possible], features[possible]
        if not len(rows):
            break
        total = total + model.predict(floats[rows])
    mean = total / np.float32(len(judge.models))
    confidence = mean.max(axis=1)
    valid = confidence.astype(np.float64) > judge.threshold
    labels = mean.argmax(axis=1).astype(np.int64)
    return rows[valid], Verdicts(valid[valid], labels[valid], confidence[valid], features[valid])


def _asked_first(judge: Judge, floats: FloatImages) -> tuple[Float32s, Float32s]:
    """The first model's probabilities, and its features."""
    first = judge.models[0]
    if judge.feature_distance is not None and isinstance(first, FeatureModel):
        probabilities, features = first.predict_with_features(floats)
        return probabilities, features.reshape(len(floats), -1)
    return first.predict(floats), np.empty((len(floats), 0), dtype=np.float32)


def _joined(parts: list[Verdicts]) -> Verdicts:
    columns = ("valid", "label", "confidence", "features")
    return Verdicts(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))


def _no_rows(judge: Judge) -> dict[str, NDArray[Any]]:
    """An archive's columns without a row, so that an empty archive is no special case."""
    spec = judge.spec
    images = np.empty((0, spec.height, spec.width, spec.channels), dtype=np.uint8)
    whole = {name: np.empty(0, dtype=np.int64) for name in _COLUMNS}
    return {**whole, "images": images, "seconds": np.empty(0)}
