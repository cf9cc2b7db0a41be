"""What `diffgan select` prints for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffgan.cli.console import print_facts, print_note, print_table

if TYPE_CHECKING:
    from diffgan.selection.card import Card, HeldOut
    from diffgan.selection.examples import Counts
    from diffgan.selection.routing import Routing
    from diffgan.selection.scores import ChoiceScores, Figure, Rival

Names = tuple[str, str]


def show_training(card: Card, out: Path) -> None:
    """A selector that was just trained."""
    names = card.pair.names
    facts: dict[str, Any] = {
        **_counted(card.counts, names),
        "features": f"{card.features.name}, {card.forest.features} of an image",
        "on the data": f"{names[0]} alone is right on {card.data.only_a:,} images, {names[1]} alone on "
        f"{card.data.only_b:,}: {names[1]} is asked where its probability exceeds {card.threshold:.3f}",
        "queries": f"{card.queries['a']:,} of {names[0]}, {card.queries['b']:,} of {names[1]}",
        "folder": out,
    }
    print_facts(f"A selector for {names[0]} (A) and {names[1]} (B)", facts)
    checked = card.cross_validation
    if checked is not None and checked.scores is not None:
        title = f"Cross-validation in {checked.parts} parts, {checked.groups:,} groups of near copies kept together"
        show_scores(title, checked.scores)
    elif checked is not None:
        print_note(
            f"No cross-validation: {checked.groups} groups of near copies do not make {checked.parts} parts with both "
            "kinds in each training; label triggers of more kinds."
        )
    if card.held_out is None:
        print_note("Not tested on another run: label one of another seed, and name it with --test, or `select score`.")
    else:
        show_held_out(card.held_out, names)


def show_held_out(held_out: HeldOut, names: Names) -> None:
    """A test on other runs."""
    print_facts(f"Other triggers: {', '.join(held_out.runs)}", _counted(held_out.counts, names))
    far = f"{held_out.far:,} of {held_out.examples:,}"
    if held_out.scores is None:
        print_note(f"{far} are no near copies of what the training saw, so there is nothing to score: search longer.")
        return
    show_scores(f"On {far}, the others being near copies of what the training saw", held_out.scores)
    if held_out.in_use is not None:
        print_note(
            "With the odds of the data, as it is used: balanced accuracy "
            f"{_figure(held_out.in_use.balanced)}, accuracy {_figure(held_out.in_use.accuracy)}."
        )


def show_scores(title: str, scores: ChoiceScores) -> None:
    """The selector's choices beside what it takes no selector to reach."""
    rows = [["selector", _figure(scores.accuracy), _figure(scores.balanced), ""]]
    rows += [[name, _share(rival.accuracy), _balanced(name), _test(rival)] for name, rival in scores.rivals.items()]
    print_table(title, ["", "accuracy", "balanced", "McNemar"], rows)


def show_routing(routing: Routing, names: Names) -> None:
    """Accuracy and cost on labelled data."""
    rows = []
    titles = {"selector": "selector", "A": f"{names[0]} (A)", "B": f"{names[1]} (B)", "both": "both, mean"}
    for name, way in routing.ways.items():
        asked = f"{way.queries['a']:,} + {way.queries['b']:,}"
        test = "" if way.against is None else _test(way.against)
        rows.append([titles[name], _figure(way.accuracy), f"{way.seconds:.2f} s", asked, test])
    title = f"{routing.data}: {routing.images:,} images, {routing.either_right:,} of which a model is right about"
    print_table(title, ["", "accuracy", "time", "asked A + B", "McNemar"], rows)
    if routing.choices is not None:
        show_scores(f"Where exactly one is right: {routing.choices.images:,} images", routing.choices)
    if routing.is_training_data:
        print_note(
            f"{routing.data} is the data that the features and the odds were taken from, with these very labels: the "
            "selector's figures on it are flattered. Score it on labelled images that no part of it has seen."
        )


def _counted(counts: Counts, names: Names) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "labelled": f"{counts.labelled:,}" + (f", {counts.by_machine:,} by judges alone" if counts.by_machine else ""),
        "left out": f"{counts.invalid:,} invalid, {counts.both_wrong:,} both wrong, {counts.conflicts:,} conflicts",
        "exactly one right": f"{names[0]} on {counts.only_a:,}, {names[1]} on {counts.only_b:,}",
    }
    if counts.not_drawn:
        facts["left out"] += f", {counts.not_drawn:,} not drawn"
    return facts


def _figure(figure: Figure) -> str:
    return f"{100 * figure.value:.1f} % ({100 * figure.low:.1f}–{100 * figure.high:.1f})"


def _balanced(name: str) -> str:
    """What a rule that does not look at the image comes to; the mean of both is no choice between them."""
    if name == "mean of both":
        return ""
    return _share(1.0 if name == "oracle choice" else 0.5)


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _test(rival: Rival) -> str:
    if rival.p is None:
        return ""
    return f"{rival.only_selector}:{rival.only_rival}, p {rival.p:.1g}"
