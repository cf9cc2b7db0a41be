"""`diffgan inspect`: what a model, a pair, data, a generator or a run is, before anything long starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from diffgan.cli.console import print_facts, print_json, print_table
from diffgan.errors import UsageError

Target = Annotated[str, typer.Argument(metavar="TARGET", help="A model, data (name or path), a generator, or a run.")]
Second = Annotated[str | None, typer.Argument(metavar="MODEL", help="A second model, to see the pair.")]
Data = Annotated[str | None, typer.Option("--data", metavar="DATA", help="Labelled images to try the model(s) on.")]
OptionsA = Annotated[
    list[str], typer.Option("--a", metavar="KEY=VALUE", help="An option of the first model, such as output=logits.")
]
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
    """Show what a model, a pair of models, a dataset, a generator or a run is.

    With --data, models are tried on it: accuracy, disagreements, speed.
    """
    if not target or second == "" or data == "":
        raise UsageError("An empty text is no model, data, generator or run: give its name or path.")
    if second is None and b:
        raise UsageError("--b is for a second model, and only one is given: use --a, or name a second model.")
    if _is_run(target):
        _refuse_extras(target, "a run", second, data, a)
        _show_run(Path(target), json)
    elif _is_generator(target):
        from diffgan.cli.inspect_generator import show_generator

        _refuse_extras(target, "a generator", second, data, a)
        show_generator(Path(target), as_json=json)
    elif _is_data(target):
        _refuse_extras(target, "data", second, data, a)
        _show_data(target, json)
    elif second is not None and _is_data(second):
        raise UsageError(f"{second} is data, where a second model is expected: give it as --data {second}.")
    else:
        from diffgan.cli.inspect_models import show_models

        show_models(target, second, data, a, b, json)


def _is_run(target: str) -> bool:
    return (Path(target) / "archive.db").is_file()


def _is_generator(target: str) -> bool:
    """A folder with a card, or a file whose sidecar says `latent`."""
    if _is_selector(target):
        return False
    if (Path(target) / "card.json").is_file():
        return True
    from diffgan.generators.sidecar import has_generator_sidecar

    return has_generator_sidecar(Path(target))


def _is_selector(target: str) -> bool:
    """A folder that is opened as a model."""
    return (Path(target) / "forest.skops").is_file()


def _is_data(target: str) -> bool:
    from diffgan.datasets.loading import is_dataset_name

    if _is_selector(target):
        return False
    path = Path(target)
    bare = not path.suffix and ":" not in target and not os.path.exists(path)  # noqa: PTH110 - takes any length
    return is_dataset_name(target) or path.suffix.lower() == ".npz" or bare or os.path.isdir(path)  # noqa: PTH112


def _refuse_extras(target: str, kind: str, second: str | None, data: str | None, a: list[str]) -> None:
    if second is not None or data is not None or a:
        hint = f" To try a model on it: diffgan inspect MODEL --data {target}." if kind == "data" else ""
        raise UsageError(f"{target} is {kind}, which is shown alone, without a second model, --data or --a.{hint}")


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
