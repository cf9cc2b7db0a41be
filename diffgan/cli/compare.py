"""`diffgan compare`: a search for images on which two classifiers disagree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffgan.cli.console import percent, print_facts, print_json, print_note, print_table, stray_output_aside

if TYPE_CHECKING:
    from diffgan.pipeline import Comparison

_CELLS = 8


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A model: a file, an address, or py:module:attribute.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other model.")],
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="What both models are for: a name or a path.")],
    generator: Annotated[
        str | None,
        typer.Option(
            "--generator", metavar="DIR|FILE", help="Makes the images; by default, one is trained once, if needed."
        ),
    ] = None,
    strategy: Annotated[str, typer.Option("--strategy", metavar="NAME", help="How to search.")] = "nsga2",
    divergence: Annotated[str, typer.Option("--divergence", metavar="NAME", help="What is maximised.")] = "euclidean",
    budget: Annotated[str | None, typer.Option("--budget", metavar="TIME", help="Of search; by default 10m.")] = None,
    evaluations: Annotated[int | None, typer.Option("--evaluations", help="Images to show to both models.")] = None,
    queries: Annotated[int | None, typer.Option("--queries", help="Images to classify, both models together.")] = None,
    triggers: Annotated[int | None, typer.Option("--triggers", help="Unique triggers to find.")] = None,
    min_distance: Annotated[
        float | None,
        typer.Option("--min-distance", metavar="D", help="Keep triggers out that are nearer to another (cosine)."),
    ] = None,
    filters: Annotated[
        bool, typer.Option("--filters/--no-filters", help="Say which triggers are valid, after the search.")
    ] = True,
    discriminator: Annotated[
        Path | None, typer.Option("--discriminator", metavar="DIR", help="Filters, and drfuzz, ask that of this GAN.")
    ] = None,
    references: Annotated[
        str | None, typer.Option("--references", metavar="DATA", help="Real images for the SSIM filter.")
    ] = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html into the run's folder.")
    ] = True,
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE|NAME", help="Settings of search and generator.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run's folder; by default runs/compare-NNN.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed and evaluations, the same run.")] = 0,
    batch: Annotated[
        int | None,
        typer.Option("--batch", min=1, metavar="N", help="Images at a time; by default 1,024. Fewer for slow models."),
    ] = None,
    option_a: Annotated[list[str] | None, typer.Option("--a", metavar="KEY=VALUE", help="An option of A.")] = None,
    option_b: Annotated[list[str] | None, typer.Option("--b", metavar="KEY=VALUE", help="An option of B.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Search for images on which two classifiers disagree.

    The first budget that is reached ends the search; Ctrl-C ends it well, and --resume goes on.
    """
    from diffgan import pipeline
    from diffgan.cli.live import Terminal
    from diffgan.errors import UsageError
    from diffgan.models.options import parse_assignments

    if resume and out is None:
        raise UsageError("--resume goes on with the run in --out: name its folder.")
    with stray_output_aside():
        made = pipeline.compare(
            a,
            b,
            data=data,
            budget=budget,
            evaluations=evaluations,
            queries=queries,
            triggers=triggers,
            watcher=Terminal(),
            generator=generator,
            strategy=strategy,
            divergence=divergence,
            min_distance=min_distance,
            filters=filters,
            discriminator=discriminator,
            references=references,
            report=report,
            config=config,
            out=out,
            resume=resume,
            seed=seed,
            **({} if batch is None else {"batch": batch}),
            options_a=parse_assignments(option_a or [], "--a"),
            options_b=parse_assignments(option_b or [], "--b"),
        )
    if as_json:
        print_json(made.summary)
    else:
        show(made)
    if made.summary["ended_by"] == "stopped":
        print_note(f"Stopped; all is kept. It can go on: repeat the command with --out {made.folder} --resume.")
        raise typer.Exit(130)


def screening_of(summary: Mapping[str, Any]) -> str | None:
    """How many images the shown ones were chosen from, where there were more."""
    made = summary["search"].get("made", 0)
    # Of a last batch that the budget cut short, more were made, too.
    if made < 1.1 * summary["evaluations"]:
        return None
    return f"they were chosen of {made:,} for what lean classifiers and a mimic of both models make of them"


def show(made: Comparison) -> None:
    """The result for people."""
    from diffgan.cli.filter import show as show_stages
    from diffgan.durations import show_duration

    summary = made.summary
    cells = cells_of(summary["disagreement"])
    names = summary["models"]
    facts: dict[str, Any] = {
        "searched": f"{summary['evaluations']:,} images in {show_duration(summary['seconds'])} "
        f"({summary['evaluations_per_second']:,.0f}/s), {summary['strategy']}, seed {summary['seed']}",
        "screened": screening_of(summary),
        "triggers": f"{summary['triggers']:,}, {summary['unique']:,} of them unique",
        "finds": finds_of(summary["search"]),
        "kinds": f"{len(cells):,} (label of A, label of B)",
        "crowding": crowding_of(summary["search"]),
        "time": ", ".join(f"{name} {share:.0%}" for name, share in summary["time_share"].items() if share >= 0.005),
        "run": made.folder,
    }
    facts = {name: fact for name, fact in facts.items() if fact}
    print_facts(f"{names['a']} and {names['b']} on {summary['data']}", facts)
    if not summary["unique"]:
        print_note(
            f"The two never disagreed on {summary['evaluations']:,} images: search longer, with another seed, or with "
            "another generator."
        )
        return
    rows = [
        [f"{label_a} → {label_b}", f"{count:,}", percent(count / summary["unique"])]
        for label_a, label_b, count in cells[:_CELLS]
    ]
    rest = sum(count for _, _, count in cells[_CELLS:])
    if rest:
        rows.append([f"{len(cells) - _CELLS} more kinds", f"{rest:,}", percent(rest / summary["unique"])])
    print_table("Where they disagree", [f"{names['a']} → {names['b']}", "unique triggers", "share"], rows)
    if made.filtered is not None:
        show_stages(made.filtered.stages, made.filtered.triggers)
    if made.report is not None:
        print_note(f"Open the report in a browser: {made.report}")


def finds_of(facts: dict[str, Any]) -> str:
    """What a search takes for its result; empty where its strategy does not say."""
    if "finds" not in facts:
        return ""
    valid = " and look valid to the search" if facts.get("look_valid", True) else ""
    return f"{facts['finds']:,} that are distinct{valid}"


def crowding_of(facts: dict[str, Any]) -> str:
    """How far a search has settled on one kind; empty where its strategy does not say."""
    if "largest_cell_share" not in facts:
        return ""
    return (
        f"{percent(facts['largest_cell_share'])} of the triggers are of one kind, "
        f"{percent(facts['largest_recent_cell_share'])} of the latest"
    )


def cells_of(disagreement: dict[str, dict[str, int]]) -> list[tuple[str, str, int]]:
    """The kinds of disagreement, the most frequent first."""
    cells = [(a, b, count) for a, row in disagreement.items() for b, count in row.items()]
    return sorted(cells, key=lambda cell: -cell[2])
