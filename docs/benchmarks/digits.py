"""How many of a digits generator's samples are valid, by a judge that neither it nor the models under test saw.

python docs/benchmarks/digits.py GENERATOR

The judge is a support vector machine with RBF kernel, trained on digits:models and digits:judge; valid is what it is
surer of than of 5 % of the real images of digits:test, which the generator was trained on.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.svm import SVC

from diffgan.datasets import load_dataset
from diffgan.generators.generator import load_generator
from diffgan.images import ByteImages

SAMPLES = 5000


def flat(images: ByteImages) -> np.ndarray:
    """Pixels of [0, 1], a row an image."""
    return images.reshape(len(images), -1) / 255


def main() -> None:
    """Prints one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("generator")
    generator = load_generator(parser.parse_args().generator)
    parts = [load_dataset("digits:models"), load_dataset("digits:judge")]
    judge = SVC(C=10, probability=True, random_state=0)
    judge.fit(flat(np.concatenate([part.images for part in parts])), np.concatenate([part.labels for part in parts]))
    real = judge.predict_proba(flat(load_dataset("digits:test").images)).max(axis=1)
    threshold = np.quantile(real, 0.05)
    images, _, classes = generator.sample(SAMPLES, np.random.default_rng(1))
    said = judge.predict_proba(flat(images))
    labels = said.argmax(axis=1)
    intended = "" if classes is None else f"intended {(labels == classes).mean():.1%}, "
    shares = np.bincount(labels, minlength=10) / SAMPLES
    print(
        f"valid {(said.max(axis=1) > threshold).mean():.1%} (real images: {(real > threshold).mean():.1%}), "
        f"{intended}classes {shares.min():.1%} to {shares.max():.1%}"
    )


if __name__ == "__main__":
    main()
