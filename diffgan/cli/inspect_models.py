"""What `diffgan inspect` shows of models, alone and on data."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

from diffgan.cli.console import percent, print_facts, print_json, print_note, print_table, progress, stray_output_aside
from diffgan.datasets import Dataset, load_dataset
from diffgan.models import Classifier, load_classifier
from diffgan.models.evaluation import (
    accuracy,
    check_labels_known,
    compare_labels,
    predict_labels,
)
from diffgan.models.options import parse_assignments
from diffgan.models.pairs import load_pair

_ROWS = 10


def show_models(target: str, second: str | None, data: str | None, a: list[str], b: list[str], as_json: bool) -> None:
    """Opens one or two models, tries them on data where there is some, and prints what they are."""
    dataset = None if data is None else load_dataset(data)
    spec = None if dataset is None else dataset.spec
    options = (parse_assignments(a, "--a"), parse_assignments(b, "--b"))
    with stray_output_aside():
        if second is None:
            models = [load_classifier(target, options=options[0], spec=spec, origin="--a")]
        else:
            models = list(load_pair(target, second, spec=spec, options=options))
    if dataset is None:
        _show_unlabelled(models, as_json)
    else:
        _show_on_data(models, dataset, as_json)


def _model_facts(model: Classifier) -> dict[str, Any]:
    probed = model.output_shape is not None
    return {
        "source": model.source,
        "image": str(model.declared_spec or "not declared"),
        "classes": model.class_count if probed else "unknown until probed: give --data",
        "layout": model.layout,
        "range": list(model.options.range),
        "output": model.options.output,
        "fingerprint": model.fingerprint if probed or Path(model.source).exists() else "unknown until probed",
    }


def _show_unlabelled(models: list[Classifier], as_json: bool) -> None:
    if as_json:
        print_json({"models": [_model_facts(model) for model in models]})
        return
    for model in models:
        print_facts(model.name, _model_facts(model))


def _show_on_data(models: list[Classifier], dataset: Dataset, as_json: bool) -> None:
    labels, speeds = [], []
    for model in models:
        check_labels_known(model, dataset.classes, dataset.name)
        start = perf_counter()
        with stray_output_aside(), progress(model.name, len(dataset)) as advance:
            labels.append(predict_labels(model, dataset.images, advance))
        speeds.append(len(dataset) / (perf_counter() - start))
    scores = [accuracy(predicted, dataset.labels) for predicted in labels]
    pair = compare_labels(labels[0], labels[1], dataset.labels) if len(models) == 2 else None
    content: dict[str, Any] = {"data": dataset.name, "images": len(dataset), "models": []}
    for model, score, speed in zip(models, scores, speeds, strict=True):
        content["models"].append(_model_facts(model) | {"accuracy": score, "images_per_second": round(speed)})
    if pair is not None:
        content |= {
            "disagreements": pair.disagreements,
            "both_right": pair.both_right,
            "only_a_right": pair.only_a,
            "only_b_right": pair.only_b,
            "both_wrong": pair.both_wrong,
            "disagreement": _nested(pair.pairs, dataset.classes),
        }
    if as_json:
        print_json(content)
    else:
        _print_on_data(models, dataset, content)
    _note_chance(models, scores)


def _nested(pairs: list[tuple[tuple[int, int], int]], classes: tuple[str, ...]) -> dict[str, dict[str, int]]:
    def name(label: int) -> str:
        return classes[label] if label < len(classes) else str(label)

    nested: dict[str, dict[str, int]] = {}
    for (label_a, label_b), count in pairs:
        row = nested.setdefault(name(label_a), {})
        row[name(label_b)] = row.get(name(label_b), 0) + count
    return nested


def _print_on_data(models: list[Classifier], dataset: Dataset, content: dict[str, Any]) -> None:
    rows = [
        [
            model.name,
            percent(facts["accuracy"]),
            facts["classes"],
            f"{facts['images_per_second']:,}",
            facts["fingerprint"][:12],
        ]
        for model, facts in zip(models, content["models"], strict=True)
    ]
    title = f"On {dataset.name} ({len(dataset):,} images of {dataset.spec})"
    print_table(title, ["model", "accuracy", "classes", "images/s", "fingerprint"], rows)
    if len(models) != 2:
        return
    count = content["disagreements"]
    print_facts(
        f"{count:,} disagreement{'' if count == 1 else 's'} ({percent(count / len(dataset))} of the images)",
        {
            "only A right": f"{content['only_a_right']:,}",
            "only B right": f"{content['only_b_right']:,}",
            "both right": f"{content['both_right']:,}",
            "both wrong": f"{content['both_wrong']:,}",
        },
    )
    cells = [(a, b, n) for a, inner in content["disagreement"].items() for b, n in inner.items()]
    cells.sort(key=lambda cell: -cell[2])
    if cells:
        print_table("Most frequent", ["label of A", "label of B", "images"], [list(cell) for cell in cells[:_ROWS]])


def _note_chance(models: list[Classifier], scores: list[float]) -> None:
    for model, score in zip(models, scores, strict=True):
        if score < 2 / model.class_count and model.class_count > 2:
            print_note(
                f"note: {model.name} is right on {percent(score)} only, close to chance: check its range, mean, std, "
                "layout, and the order of its classes."
            )
