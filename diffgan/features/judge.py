"""The judge: an ensemble that no search sees. It says whether an image is valid, and which label it has.

Valid means that the greatest mean probability strictly exceeds a threshold: the 5 % quantile of that value over real
images. The judge also holds the two distances that make triggers distinct: the median distance of a real image from
its nearest neighbour, on pixels and on the first model's features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.errors import DataError, ModelError, UsageError
from diffgan.features.ensemble import Float32s, JudgeModel, ask_all, check_models
from diffgan.images import ByteImages, ImageSpec, check_bytes, image_ids
from diffgan.stats import JudgedTriggers, Measurement, Space, measure, median_nearest_distance, quantile

BATCH = 256


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What the judge says of N images.

    Attributes:
        valid: whether the confidence strictly exceeds the judge's threshold (N,).
        label: the class with the greatest mean probability, the lowest of several (N,).
        confidence: that probability (N,).
        features: of the first model (N, D); D is 0 for a judge without features.
    """

    valid: NDArray[np.bool_]
    label: NDArray[np.int64]
    confidence: Float32s
    features: Float32s


@dataclass(frozen=True, eq=False)
class Judge:
    """Models with their calibration; `Judge.calibrate` makes one from real images.

    Attributes:
        models: asked as one; the first gives the features.
        spec: the size of the images that it judges.
        threshold: the confidence that a valid image exceeds.
        pixel_distance: the cosine distance on pixels that distinct triggers exceed; None: this judge does not measure.
        feature_distance: the same on the first model's features; None: not looked at.
        batch: how many images are in memory as floats at a time.
        real_labels: what it says of the real images, in their order, where it was calibrated.
    """

    models: tuple[JudgeModel, ...]
    spec: ImageSpec
    threshold: float
    pixel_distance: float | None
    feature_distance: float | None
    batch: int = BATCH
    real_labels: NDArray[np.int64] | None = None

    @property
    def name(self) -> str:
        """The models' names, which its labels carry."""
        return "+".join(model.name for model in self.models)

    @classmethod
    def calibrate(
        cls,
        models: Sequence[JudgeModel],
        real_images: ByteImages,
        *,
        quantile: float = 0.05,
        features: bool = True,
        distances: bool = True,
        batch: int = BATCH,
    ) -> Judge:
        """A judge whose threshold and distances come from real images that its models were not trained on.

        Args:
            models: at least one; the first has to show features, unless they are not wanted.
            real_images: uint8, N x H x W x C, at least two.
            quantile: the share of the real images that falls short of the threshold (or just meets it).
            features: False for models that show none: triggers are then distinct by their pixels alone.
            distances: False for a judge that gives verdicts and does not measure: the distances between the real
                images are then not looked for, and no features are asked for.
            batch: how many images are in memory as floats at a time.

        Raises:
            UsageError: there is no model, or the quantile lies outside [0, 1].
            DataError: fewer than two real images, or not uint8.
            ModelError: the first model has no features, a model answers wrongly, two differ in their classes, or
                the ensemble is as sure of every image, so that none would be valid.
        """
        features = features and distances
        check_models(models, features=features)
        real = check_bytes(real_images, "The judge's calibration")
        if len(real) < 2:
            raise DataError(f"A judge is calibrated on at least 2 real images, but there are {len(real)}: give more.")
        probabilities, seen = ask_all(models, real, features=features, batch=batch)
        return cls(
            models=tuple(models),
            spec=ImageSpec.of_bytes(real),
            threshold=_threshold(probabilities.max(axis=1), quantile),
            pixel_distance=median_nearest_distance(real) if distances else None,
            feature_distance=median_nearest_distance(seen) if features else None,
            batch=batch,
            real_labels=probabilities.argmax(axis=1).astype(np.int64),
        )

    def verdicts(self, images: ByteImages) -> Verdicts:
        """Which of the images (uint8, N x H x W x C, N may be 0) are valid, and their labels.

        Raises:
            DataError: the images are not uint8, or have another size than those of the calibration.
            ModelError: a model answers wrongly.
        """
        given = check_bytes(images, "The judge's input")
        if ImageSpec.of_bytes(given) != self.spec:
            raise DataError(f"The judge was calibrated on images of {self.spec}, not {ImageSpec.of_bytes(given)}.")
        if len(given) == 0:
            none = np.empty(0, dtype=np.float32)
            return Verdicts(none > 0, none.astype(np.int64), none, none.reshape(0, 0))
        wanted = self.feature_distance is not None
        probabilities, seen = ask_all(self.models, given, features=wanted, batch=self.batch)
        confidence = probabilities.max(axis=1)
        valid = confidence.astype(np.float64) > self.threshold
        return Verdicts(valid, probabilities.argmax(axis=1).astype(np.int64), confidence, seen)

    def measure(
        self,
        images: ByteImages,
        label_a: ArrayLike,
        label_b: ArrayLike,
        *,
        found: int | None = None,
        verdicts: Verdicts | None = None,
    ) -> Measurement:
        """DV of some triggers, and its parts; `Measurement.dv_at` reads it at marks of time or queries.

        Args:
            images: the triggers in order of discovery, uint8, N x H x W x C.
            label_a: the labels of model A (N,).
            label_b: the labels of model B (N,).
            found: how many triggers were found where an archive kept each image once; by default N.
            verdicts: of these same images, where they are known already.

        Raises:
            UsageError: the judge was calibrated without distances.
            DataError: the images or labels do not fit one another or the judge.
            ModelError: a model answers wrongly.
        """
        if self.pixel_distance is None:
            raise UsageError(
                f"The judge {self.name} was calibrated without distances, so it cannot say which triggers are "
                "distinct: calibrate it with them."
            )
        given = check_bytes(images, "The list of triggers")
        said = self.verdicts(given) if verdicts is None else verdicts
        triggers = JudgedTriggers(
            ids=image_ids(given),
            valid=said.valid,
            judged=said.label,
            label_a=_labels(label_a, "A"),
            label_b=_labels(label_b, "B"),
        )
        spaces = [Space(given, self.pixel_distance)]
        if self.feature_distance is not None:
            spaces.append(Space(said.features, self.feature_distance))
        return measure(triggers, spaces, found=found)


def _threshold(confidence: Float32s, share: float) -> float:
    threshold = quantile(confidence, share)
    if not threshold < confidence.max():
        raise ModelError(
            f"The judge gives no real image more than its {share:g} quantile of confidence, {threshold:g}, so none "
            "would be valid: give models with probabilities, not labels, or more real images."
        )
    return threshold


def _labels(values: ArrayLike, model: str) -> NDArray[np.int64]:
    labels = np.asarray(values)
    if labels.size and labels.dtype.kind not in "iu":
        raise DataError(f"The labels of model {model} are of type {labels.dtype}; expected whole numbers.")
    return labels.astype(np.int64)
