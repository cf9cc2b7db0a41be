"""How many of a digits generator's samples are valid, by a judge that neither it nor the models under test saw.

python docs/benchmarks/digits.py GENERATOR

The judge has a support vector machine with RBF kernel for each class, which tells it from all others, with a
probability calibrated by cross-validation; it was trained on digits:models and digits:judge. How sure it is of an image
is the greatest of these probabilities: they are not made to sum to 1 (as CalibratedClassifierCV does for several
classes), for noise, which each class denies, would then be as sure as a digit. Valid is what the judge is surer of than
of 5 % of the real images of digits:test, which the generator was trained on.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from diffgan.datasets import load_dataset
from diffgan.generators.generator import load_generator
from diffgan.images import ByteImages

SAMPLES = 5000


def flat(images: ByteImages) -> np.ndarray:
    """Pixels of [0, 1], a row an image."""
    return images.reshape(len(images), -1) / 255


class Judge:
    """How sure it is of each class, each by itself."""

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.detectors = [
            CalibratedClassifierCV(SVC(C=10), ensemble=False).fit(images, labels == label)
            for label in np.unique(labels)
        ]

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Probabilities (N, K); those of an image need not sum to 1."""
        return np.stack([detector.predict_proba(images)[:, 1] for detector in self.detectors], axis=1)


def main() -> None:
    """Prints one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("generator")
    generator = load_generator(parser.parse_args().generator)
    parts = [load_dataset("digits:models"), load_dataset("digits:judge")]
    judge = Judge(
        flat(np.concatenate([part.images for part in parts])), np.concatenate([part.labels for part in parts])
    )
    real = judge(flat(load_dataset("digits:test").images)).max(axis=1)
    threshold = np.quantile(real, 0.05)
    images, _, classes = generator.sample(SAMPLES, np.random.default_rng(1))
    said = judge(flat(images))
    labels = said.argmax(axis=1)
    intended = "" if classes is None else f"intended {(labels == classes).mean():.1%}, "
    shares = np.bincount(labels, minlength=10) / SAMPLES
    print(
        f"valid {(said.max(axis=1) > threshold).mean():.1%} (real images: {(real > threshold).mean():.1%}), "
        f"{intended}classes {shares.min():.1%} to {shares.max():.1%}"
    )


if __name__ == "__main__":
    main()
