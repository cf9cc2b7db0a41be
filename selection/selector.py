"""The selector: for each image, which of two models to trust, and that one's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError, ModelError
from diffgan.features.learned import LearnedClassifier
from diffgan.images import ByteImages, FloatImages, ImageSpec, to_bytes
from diffgan.models.classifier import Classifier
from diffgan.selection.card import FOREST_FILE, SEEN_FILE, Card, read_card, write_card
from diffgan.selection.features import LEARNED_FILE, MIMIC_FILE, Features, Mimic, open_features
from diffgan.selection.forest import fingerprint, probability_of_b, read_forest, write_forest
from diffgan.selection.networks import read_networks, write_networks
from diffgan.selection.pairs import Sources, open_pair

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

#: Images whose features are in memory at a time.
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Chooser:
    """The part of a selector that looks at images and asks no model.

    Attributes:
        card: what is known of it.
        features: what the forest sees.
        forest: see `diffgan.selection.forest`.
        learned: the classifier of the data's classes, in whose features near copies are found.
        seen: the triggers that the training saw, uint8, N x H x W x C.
    """

    card: Card
    features: Features
    forest: RandomForestClassifier
    learned: LearnedClassifier
    seen: ByteImages

    @property
    def spec(self) -> ImageSpec:
        """The size of the images that it is for."""
        return self.card.data.spec

    def probability_of_b(self, images: ByteImages, *, progress: Progress | None = None) -> Floats:
        """How probable it is that B is right, if exactly one model is, and both are so equally often (N).

        Raises:
            DataError: the images have another size.
        """
        if ImageSpec.of_bytes(images) != self.spec:
            raise DataError(
                f"The images are {ImageSpec.of_bytes(images)}, but this selector is for {self.spec}: give images of "
                "that size."
            )
        found = np.empty(len(images))
        for start in range(0, len(images), _BLOCK):
            part = images[start : start + _BLOCK]
            found[start : start + len(part)] = probability_of_b(self.forest, self.features.features(part))
            if progress is not None:
                progress(start + len(part), len(images))
        return found

    def chooses_b(self, probability: Floats) -> Mask:
        """The choice on images like the data, where the threshold says how often either model is right."""
        return probability > self.card.threshold

    def save(self, folder: Path) -> None:
        """Into a folder that is there, and empty."""
        write_card(folder, self.card)
        write_forest(folder / FOREST_FILE, self.forest)
        write_networks(folder / LEARNED_FILE, [self.learned])
        if isinstance(self.features, Mimic):
            write_networks(folder / MIMIC_FILE, self.features.networks)
        np.savez_compressed(folder / SEEN_FILE, images=self.seen)

    @classmethod
    def load(cls, folder: Path, *, weights: Path | None = None) -> Chooser:
        """What `save` wrote.

        Args:
            folder: the selector's.
            weights: of vgg16, where the file has moved.

        Raises:
            DiffganError: something is missing, damaged or changed, or could run code.
        """
        card = read_card(folder)
        shape = card.data.network.shape()
        (learned,) = read_networks(folder / LEARNED_FILE, shape, count=1, of_classes=True)
        _check_same(folder / LEARNED_FILE, learned.identity, card.data.learned)
        features = open_features(card.features, folder, learned, weights=weights)
        forest = read_forest(folder / FOREST_FILE, features=card.forest.features)
        _check_same(folder / FOREST_FILE, fingerprint(forest), card.forest.fingerprint)
        return cls(card, features, forest, learned, _read_seen(folder / SEEN_FILE, card.data.spec))


@dataclass(frozen=True)
class Selection:
    """What a selector says of N images.

    Attributes:
        chose_b: whether B was asked, and not A.
        probability: that the model asked is the right one, if exactly one is, on images like the data.
        answers: that model's, N x K.
    """

    chose_b: Mask
    probability: Floats
    answers: NDArray[np.float32]


class Selector:
    """Asks one of two models for each image: the one that is more probably right.

    Example:
        ```python
        with Selector.load("runs/selector") as selector:
            probabilities = selector.predict(images)
            print(selector.queries)
        ```

    Args:
        chooser: which one.
        models: A and B.
    """

    def __init__(self, chooser: Chooser, models: tuple[Classifier, Classifier]) -> None:
        self.chooser = chooser
        self.models = models
        self._before = tuple(model.queries for model in models)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        models: Sources = (None, None),
        weights: Path | None = None,
        threshold: float | None = None,
    ) -> Selector:
        """The selector in a folder, with the models that its card names.

        Args:
            folder: that `diffgan select train` wrote.
            models: where A and B are, in place of what the card says; needed for code and addresses.
            weights: of vgg16, where the file has moved.
            threshold: in place of the card's; 0.5 where both models are right equally often, as among triggers.

        Raises:
            DiffganError: something is missing, damaged or changed, could run code, or is another pair.
        """
        chooser = Chooser.load(Path(folder), weights=weights)
        if threshold is not None:
            chooser = replace(chooser, card=chooser.card.model_copy(update={"threshold": threshold}))
        return cls.open(chooser, models=models)

    @classmethod
    def open(cls, chooser: Chooser, *, models: Sources = (None, None)) -> Selector:
        """A selector from its first part, with the models that its card names or others of their fingerprints.

        Raises:
            DiffganError: a model cannot be opened, or is another one.
        """
        return cls(chooser, open_pair(chooser.card.pair, chooser.spec, given=models))

    @property
    def card(self) -> Card:
        """What is known of it."""
        return self.chooser.card

    @property
    def queries(self) -> dict[str, int]:
        """Images that A and B were asked about by this selector."""
        asked = (model.queries - before for model, before in zip(self.models, self._before, strict=True))
        return dict(zip("ab", asked, strict=True))

    def predict(self, images: FloatImages, *, timeout: float | None = None) -> NDArray[np.float32]:
        """Probabilities (N, K) for images (N x C x H x W, [0, 1]), from one model each.

        Raises:
            DataError: the images have another size.
            ModelError: a model failed.
        """
        return self.select(images, timeout=timeout).answers

    def select(self, images: FloatImages, *, timeout: float | None = None) -> Selection:
        """The same, with which model was asked.

        Raises:
            DataError: the images have another size.
            ModelError: a model failed.
        """
        probability = self.chooser.probability_of_b(to_bytes(images))
        chose_b = self.chooser.chooses_b(probability)
        answers = np.empty((len(images), *(self.models[0].output_shape or (0,))), dtype=np.float32)
        for model, chosen in zip(self.models, (~chose_b, chose_b), strict=True):
            if chosen.any():
                answers[chosen] = model.predict(np.ascontiguousarray(images[chosen]), timeout=timeout)
        b = on_data(probability, self.card.threshold)
        return Selection(chose_b, np.where(chose_b, b, 1 - b), answers)

    def close(self) -> None:
        """Frees what the models hold."""
        for model in self.models:
            model.close()

    def __enter__(self) -> Selector:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def on_data(probability: Floats, threshold: float) -> Floats:
    """The forest's probability, once it is known how often either model is right on the data.

    The forest weighs both alike. With the odds of the data, B is as probable as A just at the threshold.

    Example:
        >>> import numpy as np
        >>> on_data(np.array([0.0, 0.2, 0.5, 1.0]), 0.2).round(3).tolist()
        [0.0, 0.5, 0.8, 1.0]
    """
    b, a = probability * (1 - threshold), (1 - probability) * threshold
    total = b + a
    shared: Floats = np.divide(b, total, out=np.full(len(b), 0.5), where=total > 0)
    return shared


def threshold_of(only_a: int, only_b: int) -> float:
    """Above which probability B is the better choice, where A alone is right so often, and B alone so often.

    Both counts are taken one higher, so that few images do not rule a model out.

    Example:
        >>> threshold_of(0, 0), threshold_of(1, 7)
        (0.5, 0.2)
    """
    return (only_a + 1) / (only_a + only_b + 2)


def _read_seen(path: Path, spec: ImageSpec) -> ByteImages:
    try:
        with np.load(path, allow_pickle=False) as content:
            images: ByteImages = content["images"]
    except Exception as error:  # a damaged zip raises nearly anything
        raise ModelError(f"{path} is missing or damaged ({error}): copy the folder again, or train again.") from error
    if images.dtype != np.uint8 or images.ndim != 4 or ImageSpec.of_bytes(images) != spec:
        raise ModelError(f"{path} does not hold images of {spec}: copy the folder again, or train again.")
    return images


def _check_same(path: Path, found: str, wanted: str) -> None:
    if found != wanted:
        raise ModelError(f"{path} is not what the card says ({found}, not {wanted}): copy the folder again.")
