"""Trains a second judge, and two further pairs of classifiers, for the last word on what a bench measured.

python docs/benchmarks/second_judge.py --train mnist_train.npz --test mnist_test.npz --out DIR [--share 1.0]

The judge is of two models of other architectures than the first judge's: a small residual network, which shows its
features, and a wide perceptron on patches. The pairs: `architecture_a` is a plain convolutional network,
`architecture_b` has separable convolutions; `augmentation_a` and `augmentation_b` are alike, but one was trained on
the images as they are and the other on turned and shifted ones. Nothing of this may take part in a search, or in the
choice of a setting; the files are not part of the project.

A model that is there already is not trained again, so an interrupted call goes on with the model that was under way.
`--share 0.01` trains for a hundredth of the updates, to try it out. In a study:

    judge: {models: [DIR/judge0.pt2, DIR/judge1.pt2], features: features}
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from diffgan.datasets import Dataset, load_dataset
from diffgan.drafts import replacing
from diffgan.models import load_classifier
from diffgan.models.evaluation import accuracy, predict_labels

BATCH, CLASSES = 128, 10

#: Turns (degrees), shifts (pixels) and scales (share) of the augmentation, to either side.
TURN, SHIFT, SCALE = 10.0, 2.0, 0.08


class Residual(nn.Module):
    """Two convolutions with batch normalisation, and a way around them."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )
        same = channels == width and stride == 1
        self.around = nn.Identity() if same else nn.Conv2d(channels, width, 1, stride, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        """The sum of both ways."""
        return torch.relu(self.body(images) + self.around(images))


def residual() -> tuple[nn.Module, int]:
    """The judge's first: its features are 96 numbers."""
    body = nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        Residual(16, 24, 1),
        Residual(24, 48, 2),
        Residual(48, 96, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    return body, 96


def wide() -> tuple[nn.Module, int]:
    """The judge's second: patches of 4 × 4, each seen alone, then all together."""
    body = nn.Sequential(
        nn.Conv2d(1, 48, 6, stride=4, padding=2),
        nn.GELU(),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(48 * 49, 512),
        nn.BatchNorm1d(512),
        nn.GELU(),
        nn.Dropout(0.2),
        nn.Linear(512, 128),
        nn.GELU(),
    )
    return body, 128


def plain() -> tuple[nn.Module, int]:
    """Two convolutions, pooled, and a hidden layer."""
    body = nn.Sequential(
        nn.Conv2d(1, 12, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(24 * 49, 96),
        nn.ReLU(),
    )
    return body, 96


def separable() -> tuple[nn.Module, int]:
    """Convolutions within each channel, then across them."""
    layers: list[nn.Module] = [nn.Conv2d(1, 24, 4, stride=2, padding=1), nn.ReLU()]
    for channels, width, stride in ((24, 48, 1), (48, 96, 2), (96, 96, 1)):
        layers += [
            nn.Conv2d(channels, channels, 5, stride, padding=2, groups=channels, bias=False),
            nn.BatchNorm2d(channels),
            nn.Conv2d(channels, width, 1),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten()), 4 * 96


@dataclass(frozen=True)
class Plan:
    """How one model is made."""

    name: str
    body: Callable[[], tuple[nn.Module, int]]
    epochs: int
    augmented: bool
    shows_features: bool = False


PLANS = (
    Plan("judge0", residual, epochs=8, augmented=True, shows_features=True),
    Plan("judge1", wide, epochs=14, augmented=True, shows_features=True),
    Plan("architecture_a", plain, epochs=3, augmented=False),
    Plan("architecture_b", separable, epochs=4, augmented=False),
    Plan("augmentation_a", plain, epochs=3, augmented=False),
    Plan("augmentation_b", plain, epochs=4, augmented=True),
)


class Whole(nn.Module):
    """A body with its classes; answers logits while it learns, and what a file shows afterwards."""

    def __init__(self, body: nn.Module, width: int, shows_features: bool) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(width, CLASSES)
        self.shows_features = shows_features

    def forward(self, images: Tensor) -> Tensor | dict[str, Tensor]:
        """Probabilities, and features where they are shown."""
        features = self.body(images)
        probabilities = torch.softmax(self.head(features), dim=1)
        if not self.shows_features:
            return probabilities
        return {"probabilities": probabilities, "features": features}

    def logits(self, images: Tensor) -> Tensor:
        """What is learned from."""
        answer: Tensor = self.head(self.body(images))
        return answer


def turned(images: Tensor, draws: torch.Generator) -> Tensor:
    """Each image turned, shifted and scaled a little, by its own draw."""
    angle, across, down, scale = (2 * torch.rand(4, len(images), generator=draws) - 1).unbind()
    angle, scale = angle * np.deg2rad(TURN), 1 + scale * SCALE
    pixel = 2 * SHIFT / images.shape[-1]
    rows = [
        torch.stack([torch.cos(angle) * scale, -torch.sin(angle) * scale, across * pixel], dim=1),
        torch.stack([torch.sin(angle) * scale, torch.cos(angle) * scale, down * pixel], dim=1),
    ]
    grid = functional.affine_grid(torch.stack(rows, dim=1), list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def fitted(plan: Plan, seed: int, data: Dataset, share: float) -> Whole:
    """Learns by AdamW with one cycle of the learning rate."""
    torch.manual_seed(seed)
    network = Whole(*plan.body(), plan.shows_features).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    images, labels = torch.from_numpy(data.images), torch.from_numpy(data.labels)
    updates = max(2, int(share * plan.epochs * len(images) / BATCH))
    optimiser = torch.optim.AdamW(network.parameters(), weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=updates)
    draws = torch.Generator().manual_seed(seed)
    order = torch.empty(0, dtype=torch.int64)
    for _ in range(updates):
        if len(order) < BATCH:
            order = torch.randperm(len(images), generator=draws)
        rows, order = order[:BATCH], order[BATCH:]
        batch = images[rows].permute(0, 3, 1, 2).float() / 255
        loss = functional.cross_entropy(network.logits(turned(batch, draws) if plan.augmented else batch), labels[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    return network.eval()


def save(network: Whole, path: Path, data: Dataset) -> None:
    """As an exported program; the sidecar, which names the outputs, goes first, so that a program is whole."""
    if network.shows_features:
        text = "output_name: probabilities\nfeatures_name: features\n"
        Path(f"{path}.yaml").write_text(text, encoding="utf-8")
    example = torch.zeros(2, *data.spec.shape)
    program = torch.export.export(
        network.to(memory_format=torch.contiguous_format),  # type: ignore[call-overload]
        (example,),
        dynamic_shapes=({0: torch.export.Dim("batch")},),
    )
    with replacing(path) as draft, draft.open("wb") as file:
        torch.export.save(program, file)


def main() -> None:
    """Trains what is not there yet, and says how good all of it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    arguments = parser.parse_args()
    train, test = load_dataset(arguments.train), load_dataset(arguments.test)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for seed, plan in enumerate(PLANS, 1000):
        path = arguments.out / f"{plan.name}.pt2"
        started = perf_counter()
        if not path.exists():
            save(fitted(plan, seed, train, arguments.share), path, train)
        took = perf_counter() - started
        right = accuracy(predict_labels(load_classifier(path, spec=test.spec), test.images), test.labels)
        print(f"{plan.name}: {right:.2%} of {test.name}, {took:.0f} s", flush=True)
    summarise(arguments.out, test)


def summarise(folder: Path, test: Dataset) -> None:
    """The judge as one, and where the pairs differ."""
    judges = [load_classifier(folder / f"judge{place}.pt2", spec=test.spec) for place in range(2)]
    floats = test.floats()
    parts = [floats[start : start + 1000] for start in range(0, len(floats), 1000)]
    mean = np.concatenate([sum(judge.predict(part) for judge in judges) for part in parts])
    print(f"the judge: {accuracy(mean.argmax(axis=1), test.labels):.2%}; 99.2 % is wanted")
    for pair in ("architecture", "augmentation"):
        models = (load_classifier(folder / f"{pair}_{side}.pt2", spec=test.spec) for side in "ab")
        one, other = (predict_labels(model, test.images) for model in models)
        print(f"{pair}: the two disagree on {int((one != other).sum())} of {len(test):,} images")


if __name__ == "__main__":
    main()
