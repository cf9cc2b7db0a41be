"""The small networks that features come from, trained in seconds on what a run leaves behind.

`learned` recognises the classes of the run's data. `mimic` does, too, and also answers as A and as B do: on real
images, on which both were asked once, and on triggers, whose answers the archive holds. A label of a person or a judge
goes into neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from diffgan.datasets import Dataset
from diffgan.errors import DataError, ModelError
from diffgan.features.learned import BATCH, Draw, LearnedClassifier, LearningSettings, Network, train
from diffgan.features.learned_cache import cache_name, read_learned, write_learned
from diffgan.features.shifts import SHIFT, shifted_copies
from diffgan.selection.answers import Answers

Report = Callable[[int, int], None]

#: Images that a training goes through: so many at least, and large data twice.
FEWEST_SEEN, TIMES = 60_000, 2
#: Networks of mimic, whose answers are averaged: one alone depends much on its seed.
MEMBERS = 3


def train_learned(data: Dataset, *, report: Report = lambda *_: None) -> LearnedClassifier:
    """The classifier of some data's classes, from the cache where it is there; half of what it sees is shifted.

    Raises:
        DataError: all images are of one class.
    """
    if int((data.counts() > 0).sum()) < 2:
        raise DataError(f"All images of {data.name} are of one class: features are learned from two or more.")
    settings = _settings(data, outputs=len(data.classes), images=len(data), seed=0)
    name = cache_name(data.fingerprint, settings, f"selector shift={SHIFT}")
    found = read_learned(name, settings, of_classes=True)
    if found is None:
        found = LearnedClassifier(train(settings, _draw_classes(data), report=report), of_classes=True)
        write_learned(name, found)
    return found


def train_mimic(
    data: Dataset, real: Answers, triggers: Answers, *, seed: int, report: Report = lambda *_: None
) -> tuple[LearnedClassifier, ...]:
    """Networks that say the class, A's answer and B's answer: 3 K outputs, each third with a sum of its own.

    A quarter of what each sees is real images, a quarter is shifted ones (of which only the class is known), and half
    is triggers.

    Args:
        data: labelled real images.
        real: the same images, with what the models answered.
        triggers: with what the models answered; there may be none.
        seed: of the trainings.
        report: called with the updates done and their number.
    """
    draw = _draw_answers(data, real, triggers)
    networks = []
    for member in range(MEMBERS):
        settings = _settings(
            data, outputs=3 * real.a.shape[1], images=len(real) + len(triggers), seed=MEMBERS * seed + member
        )
        done, total = member * settings.updates, MEMBERS * settings.updates
        networks.append(
            LearnedClassifier(train(settings, draw, report=_part_of(report, done, total)), of_classes=False)
        )
    return tuple(networks)


def write_networks(path: Path, classifiers: Sequence[LearnedClassifier]) -> None:
    """The weights, and nothing that can run."""
    tensors = {
        f"{place}.{key}": value.contiguous()
        for place, classifier in enumerate(classifiers)
        for key, value in classifier.network.state_dict().items()
    }
    save_file(tensors, path)


def read_networks(path: Path, shape: NetworkShape, *, count: int, of_classes: bool) -> tuple[LearnedClassifier, ...]:
    """The networks of this shape.

    Raises:
        ModelError: the file is missing, damaged, or of other networks.
    """
    networks = []
    try:
        tensors = load_file(path)
        for place in range(count):
            with torch.device("meta"):
                network = Network(LearningSettings(**asdict(shape), images=1, updates=1))
            prefix = f"{place}."
            own = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            network.load_state_dict(own, assign=True)
            networks.append(LearnedClassifier(network.float().requires_grad_(False), of_classes=of_classes))
    except (OSError, SafetensorError, RuntimeError, ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise ModelError(f"{path} is missing or damaged ({reason}): copy the selector's folder again.") from error
    return tuple(networks)


@dataclass(frozen=True)
class NetworkShape:
    """What the layers of a network follow from.

    Attributes:
        outputs: how many there are.
        channels: of an image.
        side: the shorter one, in pixels.
    """

    outputs: int
    channels: int
    side: int


def shape_of(data: Dataset, outputs: int) -> NetworkShape:
    """The shape of a network for some data."""
    return NetworkShape(outputs, data.spec.channels, min(data.spec.height, data.spec.width))


def _settings(data: Dataset, *, outputs: int, images: int, seed: int) -> LearningSettings:
    updates = max(FEWEST_SEEN, TIMES * images) // BATCH
    shape: dict[str, Any] = asdict(shape_of(data, outputs))
    return LearningSettings(**shape, images=images, updates=updates, seed=seed)


def _part_of(report: Report, done: int, total: int) -> Report:
    return lambda now, _: report(done + now, total)


def _draw_classes(data: Dataset) -> Draw:
    images, labels = torch.from_numpy(data.images), torch.from_numpy(data.labels)

    def draw(rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        shown = _floats(images[rows])
        half = len(rows) // 2
        return torch.cat([shifted_copies(shown[:half], generator), shown[half:]]), labels[rows]

    return draw


def _draw_answers(data: Dataset, real: Answers, triggers: Answers) -> Draw:
    classes = real.a.shape[1]
    known = functional.one_hot(torch.from_numpy(data.labels), classes).float()
    of_real = torch.stack([known, torch.from_numpy(real.a), torch.from_numpy(real.b)], dim=1)
    unknown = torch.zeros(len(triggers), classes)
    of_triggers = torch.stack([unknown, torch.from_numpy(triggers.a), torch.from_numpy(triggers.b)], dim=1)
    real_images, trigger_images = torch.from_numpy(real.images), torch.from_numpy(triggers.images)

    def draw(rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        half = len(rows) // 2 if len(triggers) else len(rows)
        chosen = torch.randint(len(real_images), (half,), generator=generator)
        shown, wanted = _floats(real_images[chosen]), of_real[chosen].clone()
        shifted = half // 2
        shown[:shifted] = shifted_copies(shown[:shifted], generator)
        wanted[:shifted, 1:] = 0
        if half < len(rows):
            chosen = torch.randint(len(trigger_images), (len(rows) - half,), generator=generator)
            shown = torch.cat([shown, _floats(trigger_images[chosen])])
            wanted = torch.cat([wanted, of_triggers[chosen]])
        # One cross-entropy over all outputs, with the known thirds as the target: within each third, its own answer.
        flat = wanted.flatten(1)
        return shown, flat / flat.sum(dim=1, keepdim=True)

    return draw


def _floats(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).float() / 255
