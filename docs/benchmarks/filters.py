"""What each filter keeps of archives, and what a judge finds valid of that.

python docs/benchmarks/filters.py RUN... --data DATA --judge ORACLE.onnx... --discriminator DIR [--triggers 10000]
    [--only NAME] [--more TRAIN.npz]

A RUN is a folder of `diffgan compare`. The judge is calibrated on DATA, and no filter sees it. For each stage: its area
under the curve (the chance that a valid trigger scores higher than an invalid one), and what its default threshold
keeps: of all triggers, of the valid ones; how many times the share of valid ones has grown, and what is left of the
share of invalid ones. "at 80 %" is the same at the threshold that keeps 80 % of the valid ones, which takes labels.
`--more` adds a recogniser that was trained on more real images than a run has: what no filter may know, but nearly all
that a judge does.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from diffgan.archive.store import Archive
from diffgan.datasets import Dataset, load_dataset
from diffgan.features.judge import Judge
from diffgan.filters.discriminator import DiscriminatorFilter
from diffgan.filters.protocol import Candidates, Filter
from diffgan.filters.recognisable import RecognisableFilter
from diffgan.filters.recogniser import Recogniser, train_recogniser
from diffgan.filters.similarity import SsimFilter
from diffgan.generators.discriminator import load_discriminator
from diffgan.models import load_classifier

Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]


def main() -> None:
    """Prints a block of lines for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--judge", nargs="+", required=True)
    parser.add_argument("--discriminator", required=True)
    parser.add_argument("--triggers", type=int, default=10_000)
    parser.add_argument("--only", help="the name of a filter")
    parser.add_argument("--more", help="larger data, for another recogniser")
    arguments = parser.parse_args()
    data = load_dataset(arguments.data)
    models = [load_classifier(path, spec=data.spec, options={"features_name": "features"}) for path in arguments.judge]
    judge = Judge.calibrate(models, data.images)
    recogniser = trained(data)
    further = () if arguments.more is None else (RecognisableFilter.calibrated(trained(load_dataset(arguments.more))),)
    for run in arguments.runs:
        candidates = triggers(run, arguments.triggers)
        filters = made(data, arguments.discriminator, recogniser, with_classes=candidates.classes is not None)
        filters = tuple(stage for stage in filters if arguments.only in (None, stage.name))
        valid = judge.verdicts(candidates.images).valid
        describe(run.name, filters, candidates, valid)
        if further:
            describe(f"{run.name}, more data", further, candidates, valid)


def trained(data: Dataset) -> Recogniser:
    """From the cache, or not."""
    start = perf_counter()
    recogniser = train_recogniser(data)
    print(f"recogniser: {perf_counter() - start:.1f} s, right about {recogniser.accuracy():.1%}", flush=True)
    return recogniser


def made(data: Dataset, folder: str, recogniser: Recogniser, *, with_classes: bool) -> tuple[Filter, ...]:
    """The filters with their default thresholds, in the order of the chain."""
    discriminator = load_discriminator(folder)
    seen = np.setdiff1d(np.arange(len(data)), discriminator.data.held_out)
    return (
        DiscriminatorFilter.calibrated(discriminator, data, with_classes=with_classes),
        SsimFilter(data.images[seen]),
        RecognisableFilter.calibrated(recogniser),
    )


def triggers(run: Path, count: int) -> Candidates:
    """The first triggers of a run."""
    with Archive.open(run / "archive.db", read_only=True) as archive:
        images = archive.column("images")[:count]
        classes = archive.column("classes")[:count] if archive.has("classes") else None
    some = np.arange(len(images))
    return Candidates(ids=some, images=images, classes=classes, divergence=np.zeros(len(some)))


def describe(name: str, filters: tuple[Filter, ...], candidates: Candidates, valid: Mask) -> None:
    """The stages of one run, each alone, then those before it together with it."""
    print(f"{name}: {len(valid):,} triggers, {valid.mean():.1%} valid")
    together = similar = np.ones(len(valid), dtype=np.bool_)
    for chosen in filters:
        start = perf_counter()
        scores = chosen.scores(candidates)
        seconds = perf_counter() - start
        passing = scores >= chosen.threshold
        together = together & passing
        similar = passing if isinstance(chosen, SsimFilter) else similar
        print(
            f"  {chosen.name:14s} area {area(scores, valid):.3f}; {kept(passing, valid)}; at 80 %: "
            f"{kept(scores >= np.quantile(scores[valid], 0.2), valid)}; {seconds:.1f} s"
        )
        print(f"    with those before it: {kept(together, valid)}", flush=True)
        if isinstance(chosen, RecognisableFilter):
            adapted = chosen.adapted(candidates)
            alone = scores >= adapted.threshold
            print(f"  adapted, alone, keeps {adapted.keep:.1%} of real images; {kept(alone, valid)}")
            print(f"  adapted, with SSIM: {kept(alone & similar, valid)}", flush=True)


def kept(passing: Mask, valid: Mask) -> str:
    """What a mask keeps, in words."""
    if not passing.any():
        return "keeps nothing"
    share = valid[passing].mean()
    return (
        f"keeps {passing.mean():.1%}, {passing[valid].mean():.1%} of the valid, valid x {share / valid.mean():.2f}, "
        f"invalid x {(1 - share) / (1 - valid.mean()):.2f}"
    )


def area(scores: Scores, valid: Mask) -> float:
    """Under the receiver operating characteristic; ties count half."""
    ordered = np.sort(scores[~valid])
    below, upto = (np.searchsorted(ordered, scores[valid], side=side) for side in ("left", "right"))
    return float((below + upto).mean() / 2 / max(1, len(ordered)))


if __name__ == "__main__":
    main()
