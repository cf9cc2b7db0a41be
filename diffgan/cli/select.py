"""`diffgan select`: which of two models to trust on an image."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from diffgan.cli.console import print_json, print_note, progress, stray_output_aside

app = typer.Typer(help="A selector: for each image, which of two models to trust.", no_args_is_help=True)


class Seen(StrEnum):
    """What the forest sees of an image."""

    MIMIC = "mimic"
    LEARNED = "learned"
    VGG16 = "vgg16"
    PIXELS = "pixels"


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A selector's folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Weights = Annotated[
    Path | None, typer.Option("--weights", metavar="FILE", help="VGG16's weights; by default torchvision's.")
]
ModelA = Annotated[
    str | None, typer.Option("--model-a", metavar="A", help="Where A is now; needed for addresses and py: models.")
]
ModelB = Annotated[str | None, typer.Option("--model-b", metavar="B", help="Where B is now.")]


@app.command("train")
def train(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Labelled runs of one pair.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to make.")],
    features: Annotated[Seen, typer.Option("--features", help="What the forest sees of an image.")] = Seen.MIMIC,
    test: Annotated[
        list[Path] | None, typer.Option("--test", metavar="RUN", help="A labelled run of another seed; repeatable.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="The runs' data, where it has moved.")
    ] = None,
    triggers: Annotated[
        int | None,
        typer.Option("--triggers", metavar="N", help="At most so many valid triggers, in turn of every kind."),
    ] = None,
    parts: Annotated[int, typer.Option("--parts", metavar="N", help="Of the cross-validation; 0 for none.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed, the same selector.")] = 0,
    weights: Weights = None,
    model_a: ModelA = None,
    model_b: ModelB = None,
    as_json: Json = False,
) -> None:
    """Train a random forest on the labelled triggers on which exactly one model is right.

    It is tested by cross-validation, and on the triggers of --test runs that are no near copies of what it saw.
    """
    from diffgan.cli.select_show import show_training
    from diffgan.datasets import load_dataset
    from diffgan.selection.training import Wanted, train_selector

    with stray_output_aside():
        wanted = Wanted(
            features=features.value,
            test=tuple(test or ()),
            data=None if data is None else load_dataset(data),
            limit=triggers,
            parts=parts,
            seed=seed,
            weights=weights,
            models=(model_a, model_b),
        )
        card = train_selector(runs, out, wanted, progress=progress).card
    if as_json:
        print_json(card.model_dump(mode="json"))
    else:
        show_training(card, out)


@app.command("score")
def score(
    folder: Folder,
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN...]", help="Labelled runs that it was not trained on.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="Labelled images: accuracy and cost.")
    ] = None,
    triggers: Annotated[
        int | None, typer.Option("--triggers", metavar="N", help="Of the runs: at most so many valid triggers.")
    ] = None,
    weights: Weights = None,
    model_a: ModelA = None,
    model_b: ModelB = None,
    as_json: Json = False,
) -> None:
    """Score a selector: its choice on triggers of other runs, and accuracy and cost on labelled data.

    Beside it stand A alone, B alone, and the mean of both.
    """
    from diffgan.cli.select_show import show_held_out, show_routing
    from diffgan.datasets import load_dataset
    from diffgan.errors import UsageError
    from diffgan.selection.evaluation import check_other_runs, hold_out
    from diffgan.selection.examples import read_examples
    from diffgan.selection.routing import route
    from diffgan.selection.selector import Chooser, Selector

    if not runs and data is None:
        raise UsageError("There is nothing to score on: name labelled RUNs, or labelled images with --data.")
    held_out = routing = None
    with stray_output_aside():
        chooser = Chooser.load(folder, weights=weights)
        if runs:
            check_other_runs(chooser.card.pair, chooser.card.runs, runs)
            held_out = hold_out(chooser, runs, read_examples(runs, limit=triggers, seed=chooser.card.seed))
        if data is not None:
            dataset = load_dataset(data)
            selector = Selector.open(chooser, models=(model_a, model_b))
            with selector, progress("asking the models", 3 * len(dataset)) as report:
                routing = route(selector, dataset, progress=report)
    if as_json:
        found = {"held_out": held_out, "routing": routing}
        print_json({name: part.model_dump(mode="json") for name, part in found.items() if part is not None})
        return
    if held_out is not None:
        show_held_out(held_out, chooser.card.pair.names)
    if routing is not None:
        show_routing(routing, chooser.card.pair.names)


@app.command("predict")
def predict(
    folder: Folder,
    images: Annotated[
        str, typer.Argument(metavar="IMAGES", help="Data by name, an .npz, a folder of pictures, or a picture.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to write; it must not exist.")],
    weights: Weights = None,
    model_a: ModelA = None,
    model_b: ModelB = None,
) -> None:
    """Choose a model for each image, ask only that one, and write its label to a CSV file."""
    from diffgan.selection.choices import write_choices
    from diffgan.selection.pictures import read_pictures
    from diffgan.selection.selector import Chooser, Selector

    with stray_output_aside():
        chooser = Chooser.load(folder, weights=weights)
        pictures = read_pictures(images, chooser.spec)
        selector = Selector.open(chooser, models=(model_a, model_b))
        with selector, progress("choosing", len(pictures.images)) as report:
            asked_b = write_choices(selector, pictures, out, progress=report)
    count = len(pictures.images)
    name_a, name_b = chooser.card.pair.names
    print_note(
        f"{count:,} image{'' if count == 1 else 's'} written to {out}: {name_a} was asked about {count - asked_b:,}, "
        f"{name_b} about {asked_b:,}."
    )
