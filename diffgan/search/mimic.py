"""Imitates both models as a search goes, from cheap features of what they were shown: where might they disagree?"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffgan.search.strategies.protocol import State

Float32s = NDArray[np.float32]
Ints = NDArray[np.int64]

#: Images of an update, how often each batch is gone through, and Adam's constants.
_CHUNK, _TIMES, _STEP, _FIRST, _SECOND, _TINY = 128, 2, 3e-3, 0.9, 0.99, 1e-8
#: How weights shrink, and the least deviation that a feature is scaled by.
_DECAY, _LEAST = 1e-4, 0.05


class Mimic:
    """A linear classifier for each model, taught by its labels batch by batch."""

    def __init__(self) -> None:
        #: Images that it learned from.
        self.seen = 0
        self._updates = 0
        self._scale = torch.empty(0)
        self._weights, self._mean, self._square = torch.empty(0), torch.empty(0), torch.empty(0)

    def learn(self, features: Float32s, labels_a: Ints, labels_b: Ints, classes: int) -> None:
        """Learns from a batch.

        Args:
            features: N x D.
            labels_a: of model A (N,).
            labels_b: of model B.
            classes: how many there are.
        """
        given = torch.from_numpy(features)
        if not self.seen:
            self._begin(given, classes)
        scaled = self._scaled(given)
        wanted = torch.zeros(len(features), 2, classes)
        wanted[torch.arange(len(features)), 0, torch.from_numpy(labels_a)] = 1
        wanted[torch.arange(len(features)), 1, torch.from_numpy(labels_b)] = 1
        for _ in range(_TIMES):
            for start in range(0, len(features), _CHUNK):
                self._update(scaled[start : start + _CHUNK], wanted[start : start + _CHUNK])
        self.seen += len(features)

    def predict(self, features: Float32s) -> tuple[Float32s, Ints]:
        """For each row: how probably both disagree, and the pair of labels (as in `cells_of`) likeliest then."""
        said = self._answers(self._scaled(torch.from_numpy(features)))
        classes = said.shape[2]
        apart = 1 - (said[:, 0] * said[:, 1]).sum(dim=1)
        top, labels = said.topk(2, dim=2)
        # The likeliest pair is one of the first two of either, and not the same of both.
        joint = top[:, 0, :, None] * top[:, 1, None, :]
        joint[labels[:, 0, :, None] == labels[:, 1, None, :]] = 0
        best = joint.flatten(1).argmax(dim=1)
        rows = torch.arange(len(said))
        cells = labels[rows, 0, best // 2] * classes + labels[rows, 1, best % 2]
        return apart.numpy(), cells.numpy()

    def state(self) -> State:
        """All of it, as arrays of their own: learning writes into the tensors."""
        return {
            "counts": np.array([self.seen, self._updates]),
            "scale": self._scale.numpy().copy(),
            "weights": self._weights.numpy().copy(),
            "mean": self._mean.numpy().copy(),
            "square": self._square.numpy().copy(),
        }

    def restore(self, state: State) -> None:
        """Goes on where `state` was taken."""
        self.seen, self._updates = state["counts"].tolist()
        self._scale, self._weights, self._mean, self._square = (
            torch.from_numpy(state[name].copy()) for name in ("scale", "weights", "mean", "square")
        )

    def _begin(self, features: Tensor, classes: int) -> None:
        deviation, centre = torch.std_mean(features, dim=0, correction=0)
        self._scale = torch.stack([centre, deviation + _LEAST])
        # One row more, for what is added whatever the features are.
        self._weights = torch.zeros(features.shape[1] + 1, 2 * classes)
        self._mean, self._square = torch.zeros_like(self._weights), torch.zeros_like(self._weights)

    def _scaled(self, features: Tensor) -> Tensor:
        return torch.nn.functional.pad((features - self._scale[0]) / self._scale[1], (0, 1), value=1.0)

    def _answers(self, scaled: Tensor) -> Tensor:
        """The probabilities of both, N x 2 x classes."""
        answers: Tensor = (scaled @ self._weights).reshape(len(scaled), 2, -1).softmax(dim=2)
        return answers

    def _update(self, scaled: Tensor, wanted: Tensor) -> None:
        gradient = scaled.T @ (self._answers(scaled) - wanted).flatten(1) / len(scaled) + _DECAY * self._weights
        self._updates += 1
        self._mean.lerp_(gradient, 1 - _FIRST)
        self._square.lerp_(gradient * gradient, 1 - _SECOND)
        steady = (self._square / (1 - _SECOND**self._updates)).sqrt_().add_(_TINY)
        self._weights -= _STEP / (1 - _FIRST**self._updates) * self._mean / steady
