"""`diffgan inspect`: what a model, a pair, data or a run is, before anything long starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffgan.cli.console import percent, print_facts, print_json, print_note, print_table, progress
from diffgan.errors import UsageError

if TYPE_CHECKING:
    from diffgan.datasets import Dataset
    from diffgan.models import Classifier

Target = Annotated[str, typer.Argument(metavar="TARGET", help="A model, a dataset (name or path), or a run's folder.")]
Second = Annotated[str | None, typer.Argument(metavar="MODEL", help="A second model, to see the pair.")]
Data = Annotated[str | None, typer.Option("--data", metavar="DATA", help="Labelled images to try the model(s) on.")]
OptionsA = Annotated[list[str], typer.Option("--a", metavar="KEY=VALUE", help="An option of the first model, such as output=logits.")]
OptionsB = Annotated[list[str], typer.Option("--b", metavar="KEY=VALUE", help="An option of the second model.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_ROWS = 10


def inspect(
    target: Target,
    second: Second = None,
    data: Data = None,
    a: OptionsA = [],  # noqa: B006 - typer copies it
    b: OptionsB = [],  # noqa: B006
    json: Json = False,
) -> None:
    """Show what a model, a pair of models, a dataset or a run is.

    With --data, models are tried on it: accuracy, disagreements, speed.
    """
    if second is None and b:
        raise UsageError("--b is for a second model, and only one is given: use --a, or name a second model.")
    if _is_run(target):
        _refuse_extras(target, "a run", second, data, a)
        _show_run(Path(target), json)
    elif _is_data(target):
        _refuse_extras(target, "data", second, data, a)
        _show_data(target, json)
    else:
        _show_models(target, second, data, a, b, json)


def _is_run(target: str) -> bool:
    return (Path(target) / "archive.db").is_file()


def _is_data(target: str) -> bool:
    from diffgan.datasets.loading import is_dataset_name

    path = Path(target)
    return is_dataset_name(target) or path.suffix.lower() == ".npz" or path.is_dir()


def _refuse_extras(target: str, kind: str, second: str | None, data: str | None, a: list[str]) -> None:
    if second is not None or data is not None or a:
        raise UsageError(f"{target} is {kind}, and is shown alone: leave out the second model, --data and --a.")


def _show_data(source: str, as_json: bool) -> None:
    from diffgan.datasets import load_dataset

    dataset = load_dataset(source)
    counts = [(name, int(count)) for name, count in zip(dataset.classes, dataset.counts(), strict=True)]
    if as_json:
        facts = {"data": dataset.name, "images": len(dataset), "size": list(dataset.spec.shape)}
        print_json({**facts, "classes": dict(counts), "fingerprint": dataset.fingerprint})
        return
    print_facts(
        dataset.name,
        {
            "images": f"{len(dataset):,} of {dataset.spec} (channels×height×width)",
            "classes": _class_summary(counts),
            "fingerprint": dataset.fingerprint,
        },
    )


def _class_summary(counts: list[tuple[str, int]]) -> str:
    shown = ", ".join(f"{name} ({count:,})" for name, count in counts[:20])
    return f"{len(counts)}: {shown}" + (f", and {len(counts) - 20:,} more" if len(counts) > 20 else "")


def _show_run(folder: Path, as_json: bool) -> None:
    from diffgan.cli.runs import run_facts

    facts = run_facts(folder)
    if as_json:
        print_json(facts)
        return
    pairs = facts.pop("disagreement")
    print_facts(str(folder), facts)
    rows = [[a, b, f"{count:,}"] for a, inner in pairs.items() for b, count in inner.items()]
    rows.sort(key=lambda row: -int(row[2].replace(",", "")))
    if rows:
        print_table("Most frequent disagreements", ["label of A", "label of B", "triggers"], rows[:_ROWS])


def _show_models(target: str, second: str | None, data: str | None, a: list[str], b: list[str], as_json: bool) -> None:
    from diffgan.datasets import load_dataset
    from diffgan.models import load_classifier
    from diffgan.models.evaluation import check_same_classes
    from diffgan.models.options import parse_assignments

    dataset = None if data is None else load_dataset(data)
    spec = None if dataset is None else dataset.spec
    given = [(target, parse_assignments(a, "--a"), "--a")]
    if second is not None:
        given.append((second, parse_assignments(b, "--b"), "--b"))
    models = [load_classifier(source, options=options, spec=spec, origin=flag) for source, options, flag in given]
    if len(models) == 2 and all(model.output_shape is not None for model in models):
        check_same_classes(models[0], models[1])
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
    facts = {model.name: _model_facts(model) for model in models}
    if as_json:
        print_json({"models": list(facts.values())})
        return
    for model in models:
        print_facts(model.name, _model_facts(model))


def _show_on_data(models: list[Classifier], dataset: Dataset, as_json: bool) -> None:
    from time import perf_counter

    from diffgan.models.evaluation import accuracy, check_labels_known, compare_labels, predict_labels

    labels, speeds = [], []
    for model in models:
        check_labels_known(model, len(dataset.classes), dataset.name)
        start = perf_counter()
        with progress(model.name, len(dataset)) as advance:
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
        nested.setdefault(name(label_a), {})[name(label_b)] = count
    return nested


def _print_on_data(models: list[Classifier], dataset: Dataset, content: dict[str, Any]) -> None:
    rows = [
        [model.name, percent(facts["accuracy"]), facts["classes"], f"{facts['images_per_second']:,}", facts["fingerprint"][:12]]
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
                f"note: {model.name} is right on {percent(score)} only, close to chance: check its range, mean, std, layout, "
                "and the order of its classes."
            )
