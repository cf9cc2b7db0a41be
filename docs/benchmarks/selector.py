"""How well a selector chooses between two models, on triggers of another run and on real images.

python docs/benchmarks/selector.py A B --data DATA --generator FILE --judge ORACLE.onnx... --work DIR
    [--features mimic learned pixels vgg16] [--weights VGG16.pth] [--draws 3] [--seeds 1 2] [--unit NAME]

Makes two runs of different seeds with `nsga2`, labels all their triggers by the judge, and trains on 1,000 valid ones
of the first: once for each kind of features and each draw. What is scored are the valid triggers of the second run on
which exactly one model is right, and which are far from all that the training saw. `route` trains five selectors, each
without a fifth of the data, and scores each on its fifth: real images that no part of it has seen, other than the
generator.

Every unit leaves its result in DIR and is not done twice; --unit does one, and without it, all are done and summed up.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from diffgan.archive import Archive
from diffgan.datasets import Dataset, load_dataset
from diffgan.labels.judging import judge_triggers
from diffgan.models import load_classifier
from diffgan.pipeline import compare
from diffgan.selection.examples import read_examples
from diffgan.selection.nearness import Views, far_from
from diffgan.selection.routing import route
from diffgan.selection.selector import Chooser, Selector
from diffgan.selection.training import Wanted, train_selector

FOLDS = 5
TRIGGERS = 1000
EVALUATIONS = 100_000
RUNS = ("train", "test")


def main() -> None:
    """Does what is missing, and prints a block of lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--data", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--judge", nargs="+", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--features", nargs="+", default=["mimic", "learned", "pixels"])
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--seeds", nargs=2, type=int, default=[1, 2], help="of the run to learn from, and of the other")
    parser.add_argument("--unit")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    data = load_dataset(asked.data)
    units = units_of(asked, data)
    for name in units if asked.unit is None else [asked.unit]:
        done(asked.work, name, units[name])
    if asked.unit is None:
        tell(asked)


def units_of(asked: argparse.Namespace, data: Dataset) -> dict[str, Callable[[], dict[str, Any]]]:
    """What there is to do, by name, in order."""
    units: dict[str, Callable[[], dict[str, Any]]] = {
        f"run-{name}": partial(search, asked, data, name) for name in RUNS
    }
    for features in asked.features:
        for draw in range(asked.draws):
            units[f"{features}-{draw}"] = partial(train, asked, data, features, draw)
    for features in asked.features:
        if features in ("mimic", "learned"):
            units |= {
                f"route-{features}-{fold}": partial(fold_of, asked, data, features, fold) for fold in range(FOLDS)
            }
    return units


def done(work: Path, name: str, unit: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A unit's result, from its file where it is there."""
    path = work / f"{name}.json"
    if not path.exists():
        start = perf_counter()
        path.write_text(json.dumps(unit() | {"seconds": round(perf_counter() - start, 1)}, indent=1))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def search(asked: argparse.Namespace, data: Dataset, name: str) -> dict[str, Any]:
    """A run, labelled."""
    folder = asked.work / name
    made = compare(
        asked.a,
        asked.b,
        data=data,
        generator=asked.generator,
        evaluations=EVALUATIONS,
        seed=asked.seeds[RUNS.index(name)],
        out=folder,
        filters=False,
        report=False,
    )
    judges = [load_classifier(path, spec=data.spec) for path in asked.judge]
    with Archive.open(folder / "archive.db") as archive:
        said = judge_triggers(archive, judges, data)
    return {"triggers": said.triggers, "valid": said.valid, "search_seconds": made.summary["seconds"]}


def wanted(asked: argparse.Namespace, data: Dataset, features: str, draw: int) -> Wanted:
    """A training."""
    weights = asked.weights if features == "vgg16" else None
    return Wanted(features=features, data=data, limit=TRIGGERS, seed=draw, weights=weights)


def train(asked: argparse.Namespace, data: Dataset, features: str, draw: int) -> dict[str, Any]:
    """The card of a selector that is tested on the second run, and how it fares far from real images, too."""
    test = asked.work / "test"
    asked_for = replace(wanted(asked, data, features, draw), test=[test])
    chooser = train_selector([asked.work / "train"], asked.work / f"selector-{features}-{draw}", asked_for)
    return {"card": chooser.card.model_dump(mode="json"), "far_from_data": far_from_data(chooser, data, test)}


def far_from_data(chooser: Chooser, data: Dataset, test: Path) -> dict[str, Any]:
    """Balanced accuracy on test triggers that are far from every real image, too."""
    examples = read_examples([test])
    limits, learned = chooser.card.limits, chooser.learned
    views = Views.of(examples.images, learned, limits)
    far = far_from(views, Views.of(chooser.seen, learned, limits))
    far &= far_from(views, Views.of(data.images, learned, limits))
    right = (chooser.probability_of_b(examples.images) > 0.5) == examples.b_is_right
    shares = [float(right[far & (examples.b_is_right == is_b)].mean()) for is_b in (False, True)]
    return {"images": int(far.sum()), "balanced": float(np.mean(shares))}


def fold_of(asked: argparse.Namespace, data: Dataset, features: str, fold: int) -> dict[str, Any]:
    """Routing on a fifth of the data, by a selector that knows the rest."""
    inside = np.random.default_rng(5).permutation(len(data)) % FOLDS == fold
    rest = data.part("rest", np.flatnonzero(~inside))
    folder = asked.work / f"fold-{features}-{fold}"
    train_selector([asked.work / "train"], folder, replace(wanted(asked, rest, features, 0), parts=0))
    with Selector.load(folder) as selector:
        return route(selector, data.part("fold", np.flatnonzero(inside))).model_dump(mode="json")


def tell(asked: argparse.Namespace) -> None:
    """All results in a few lines."""
    runs = {name: json.loads((asked.work / f"run-{name}.json").read_text()) for name in RUNS}
    print(f"{Path(asked.a).name} and {Path(asked.b).name}; {runs}")
    for features in asked.features:
        for draw in range(asked.draws):
            tell_draw(features, draw, json.loads((asked.work / f"{features}-{draw}.json").read_text()))
    for features in ("mimic", "learned"):
        files = [asked.work / f"route-{features}-{fold}.json" for fold in range(FOLDS)]
        if all(file.exists() for file in files):
            tell_routing(features, [json.loads(file.read_text()) for file in files])


def tell_draw(features: str, draw: int, result: dict[str, Any]) -> None:
    """One training."""
    card, counts = result["card"], result["card"]["counts"]
    held, checked = card["held_out"], card["cross_validation"]
    scores = held["scores"]
    shown = {name: round(scores[name]["value"], 3) for name in ("accuracy", "balanced")}
    interval = [round(scores["balanced"][end], 3) for end in ("low", "high")]
    rivals = {
        name: (round(rival["accuracy"], 3), rival["p"] if rival["p"] is None else float(f"{rival['p']:.1g}"))
        for name, rival in scores["rivals"].items()
    }
    lines = [
        f"{features} {draw}: learned from {counts['only_a']} A, {counts['only_b']} B; {counts['both_wrong']} none",
        f"{held['far']} of {held['examples']} far, {scores['share_b']:.1%} B: {shown}, balanced {interval}",
        f"{rivals}",
        f"as used: balanced {held['in_use']['balanced']['value']:.3f}",
        f"far from the data, too: {result['far_from_data']}",
        f"cross-validation: {checked['scores'] and checked['scores']['balanced']}, {checked['groups']} groups, largest "
        f"{checked['largest']}; {result['seconds']} s",
    ]
    print("\n  ".join(lines), flush=True)


def tell_routing(features: str, parts: list[dict[str, Any]]) -> None:
    """The five parts together."""
    images = sum(part["images"] for part in parts)
    for name in ("selector", "A", "B", "both"):
        ways = [part["ways"][name] for part in parts]
        asked = {place: sum(way["queries"][place] for way in ways) for place in "ab"}
        print(
            f"route {features}: {name}: {sum(way['right'] for way in ways)} of {images} right, "
            f"{sum(way['seconds'] for way in ways):.2f} s, queries {asked}"
            + ("" if name == "selector" else f", selector against it {against(ways)}")
        )
    print(f"route {features}: either right about {sum(part['either_right'] for part in parts)}", flush=True)


def against(ways: list[dict[str, Any]]) -> tuple[int, int]:
    """Images on which only the selector is right, and on which only the other is."""
    ours, theirs = (sum(way["against"][name] for way in ways) for name in ("only_selector", "only_rival"))
    return ours, theirs


if __name__ == "__main__":
    main()
