"""`diffgan labels agreement` and `conflicts`: how far annotators agree, and what is to be decided."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import percent, print_facts, print_json, print_note, print_table
from diffgan.cli.labels_files import Run, archive_of, counted

if TYPE_CHECKING:
    from diffgan.labels.agreement import Agreed, Agreement, Group, Standing
    from diffgan.stats import Kappa

_SEED = 0
_LISTED = 20


def agreement(
    run: Run,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Say how far annotators agree, beyond chance; people and judges apart."""
    import numpy as np

    from diffgan import labels
    from diffgan.archive import Archive

    with Archive.open(archive_of(run), read_only=True) as archive:
        found = labels.agreement(archive, rng=np.random.default_rng(_SEED))
    if as_json:
        print_json(found.as_json())
        return
    _show_facts(found)
    _show_group("People", found.people)
    _show_group("Judges (machine labels)", found.judges)
    rows = [row for pair in found.judges_and_people for row in _rows(pair.annotators[0], pair.agreed)]
    _show_kappas("Judges, against what people say", rows)


def conflicts(
    run: Run,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="CSV", help="Write the list, to be filled in and imported.")
    ] = None,
) -> None:
    """List the triggers whose labels conflict, for somebody to decide.

    In the file of --out, fill in the column label and give it back with diffgan labels import: what is by the annotator
    decided wins over all others.
    """
    from diffgan import labels
    from diffgan.archive import Archive
    from diffgan.images import hex_id
    from diffgan.labels.texts import ClassTexts

    with Archive.open(archive_of(run), read_only=True) as archive:
        found = labels.conflicts(archive)
        if not found:
            print_note("No labels are in conflict: there is nothing to decide.")
            return
        if out is not None:
            labels.write_conflicts(archive, found, out)
            print_note(f"{counted(len(found), 'conflict')} written to {out}: fill in the column label, and import it.")
            return
        texts = ClassTexts.of(archive)
    rows = {
        hex_id(one.id): ", ".join(f"{name}: {texts.write(label)}" for name, label in sorted(one.labels.items()))
        for one in found[:_LISTED]
    }
    by_judges = sum(one.by_machine for one in found)
    print_facts(counted(len(found), "conflict") + (f", {by_judges:,} of judges alone" if by_judges else ""), rows)
    if len(found) > _LISTED:
        print_note(f"{len(found) - _LISTED:,} more: --out FILE.csv has all of them.")


def _show_facts(found: Agreement) -> None:
    facts = {"triggers": f"{found.triggers:,}"}
    if not found.labelled:
        print_facts("Labels", facts | {"labelled": "none: see diffgan label, and diffgan labels import"})
        return
    facts["labelled"] = f"{found.labelled:,}"
    if found.by_judges_alone:
        facts["labelled"] += f", of which {found.by_judges_alone:,} by judges alone"
    facts["settled"] = _part(found.settled, found.labelled)
    if found.decided:
        facts["decided"] = ", ".join(f"{count:,} by {name}" for name, count in found.decided.items())
    facts["in conflict"] = _part(found.conflicts, found.labelled)
    if found.conflicts:
        facts["in conflict"] += ": diffgan labels conflicts lists them"
    print_facts("Labels", facts)


def _show_group(title: str, group: Group) -> None:
    if not group.annotators:
        return
    print_facts(title, {name: counted(count, "label") for name, count in group.annotators.items()})
    if len(group.annotators) < 2:
        return
    stands = [_standing("label", group.label), _standing("valid or not", group.validity)]
    print_table("How they stand", ["on triggers", "one alone", "unanimous", "by majority", "in conflict"], stands)
    rows = [row for pair in group.pairs for row in _rows(" & ".join(pair.annotators), pair.agreed)]
    if len(group.annotators) > 2:
        for several in group.several:
            rows += _rows(f"{several.annotators} labels each (Fleiss)", several.agreed)
    _show_kappas("Kappa", rows)


def _show_kappas(title: str, rows: list[list[str]]) -> None:
    if rows:
        print_table(f"{title} (95 % interval)", ["between", "on", "triggers", "the same", "kappa"], rows)


def _standing(name: str, stands: Standing) -> list[str]:
    return [name, *(f"{count:,}" for count in (stands.alone, stands.unanimous, stands.majority, stands.conflict))]


def _rows(name: str, agreed: Agreed) -> list[list[str]]:
    kappas = {"label": agreed.label, "valid or not": agreed.validity}
    return [
        [name if place == 0 else "", what, f"{kappa.items:,}", _share(kappa), _kappa(kappa)]
        for place, (what, kappa) in enumerate(kappas.items())
    ]


def _share(kappa: Kappa) -> str:
    return "" if kappa.observed is None else percent(kappa.observed)


def _kappa(kappa: Kappa) -> str:
    if kappa.kappa is None:
        return "undefined" if kappa.items else ""
    if kappa.interval is None:
        return f"{kappa.kappa:.2f}"
    return f"{kappa.kappa:.2f} ({kappa.interval.low:.2f} to {kappa.interval.high:.2f})"


def _part(count: int, whole: int) -> str:
    return f"{count:,} ({percent(count / whole)})"
