"""The demo: two classifiers of different architecture, trained here and now on digits, and where they disagree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from diffgan.archive import Archive
from diffgan.datasets import Dataset, load_dataset
from diffgan.drafts import replacing
from diffgan.errors import UsageError
from diffgan.gan_training.pictures import write_grid
from diffgan.images import ByteImages

#: Of the classifiers: both come to about 98 % on the test part.
EPOCHS, BATCH, RATE = 40, 32, 2e-3

#: Triggers in the picture.
PICTURED = 36

#: Twice the distance of a real digit from the one most like it: what is nearer to another trigger is kept out.
DISTANCE = 0.06


@dataclass(frozen=True)
class Trained:
    """A classifier of the demo.

    Attributes:
        path: its file.
        accuracy: on the test part.
    """

    path: Path
    accuracy: float


def convolutional(channels: int, side: int, classes: int) -> nn.Module:
    """Two convolutions, pooled."""
    half = side // 2
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * half * half, classes),
    )


def dense(channels: int, side: int, classes: int) -> nn.Module:
    """One hidden layer."""
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * side * side, 128), nn.ReLU(), nn.Linear(128, classes))


ARCHITECTURES: dict[str, Callable[[int, int, int], nn.Module]] = {"convolutional": convolutional, "dense": dense}


def train_classifiers(data: str, folder: Path, seed: int) -> list[Trained]:
    """Both classifiers, trained on the part of the data that nothing else sees, as exported programs.

    Raises:
        UsageError: the data has no such parts, or the folder cannot be written to.
    """
    theirs, test = parts_of(data)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_trained(name, theirs, test, folder, seed) for name in ARCHITECTURES]
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to ({error.strerror}): give another --out.") from error


def parts_of(data: str) -> tuple[Dataset, Dataset]:
    """What the classifiers are trained on, and what the GAN and the search see.

    Raises:
        UsageError: the data comes in no parts.
    """
    if data != "digits":
        raise UsageError(f"The demo knows digits only, not {data}: for your own models and data, use diffgan compare.")
    return load_dataset("digits:models"), load_dataset("digits:test")


def write_best(archive: Path, path: Path) -> int:
    """A picture of kept triggers, of every kind in turn the most divergent first; their number."""
    images = _best(archive)
    if len(images):
        write_grid(path, images)
    return len(images)


def _best(path: Path) -> ByteImages:
    with Archive.open(path, read_only=True) as archive:
        divergence = archive.column("divergence", kept_only=True)
        cells = np.stack([archive.column(name, kept_only=True) for name in ("label_a", "label_b")])
        kinds = np.unique(cells, axis=1, return_inverse=True)[1]
        order = np.lexsort((-divergence, kinds))
        # They stand kind by kind, the most divergent first: the first of each kind, then the second, and so on.
        place = np.arange(len(order)) - np.searchsorted(kinds[order], kinds[order])
        chosen = order[np.lexsort((-divergence[order], place))[:PICTURED]]
        return archive.find(archive.column("ids", kept_only=True)[chosen]).images


def _trained(name: str, data: Dataset, test: Dataset, folder: Path, seed: int) -> Trained:
    network = _fit(ARCHITECTURES[name], data, seed)
    path = folder / f"{name}.pt2"
    example = torch.zeros(2, *data.spec.shape)
    program = torch.export.export(
        nn.Sequential(network, nn.Softmax(dim=1)).eval(), (example,), dynamic_shapes=({0: torch.export.Dim("batch")},)
    )
    with replacing(path) as draft, draft.open("wb") as file:
        torch.export.save(program, file)
    with torch.inference_mode():
        labels = network(torch.from_numpy(test.floats())).argmax(dim=1).numpy()
    return Trained(path, float((labels == test.labels).mean()))


def _fit(build: Callable[[int, int, int], nn.Module], data: Dataset, seed: int) -> nn.Module:
    channels, side, _ = data.spec.shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build(channels, side, len(data.classes))
    images, labels = torch.from_numpy(data.floats()), torch.from_numpy(data.labels)
    optimiser = torch.optim.Adam(network.parameters(), RATE)
    draws = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        for rows in torch.split(torch.randperm(len(images), generator=draws), BATCH):
            loss: Tensor = functional.cross_entropy(network(images[rows]), labels[rows])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return network.eval()
