"""`diffgan check`: may the new model replace the old one?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import percent, print_facts, print_json, print_note, stray_output_aside

if TYPE_CHECKING:
    from diffgan.check.gate import Checked
    from diffgan.check.result import Result


def check(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The model in use: a file, an address, or py:….")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The model that is to replace it.")],
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="Labelled data: a name or a path.")],
    suite: Annotated[
        list[Path] | None, typer.Option("--suite", metavar="RUN", help="Replayed first: a run, or a saved suite.")
    ] = None,
    budget: Annotated[str | None, typer.Option("--budget", metavar="TIME", help="Of search; by default 2m.")] = None,
    evaluations: Annotated[int | None, typer.Option("--evaluations", help="Images to show to both models.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed and evaluations, the same verdict.")] = 0,
    judge: Annotated[
        list[str] | None, typer.Option("--judge", metavar="MODEL", help="A model that labels what is found.")
    ] = None,
    generator: Annotated[
        str | None,
        typer.Option("--generator", metavar="DIR|FILE", help="Makes the images; by default, one is trained once."),
    ] = None,
    discriminator: Annotated[
        Path | None, typer.Option("--discriminator", metavar="DIR", help="Filters also ask that of this GAN.")
    ] = None,
    filters: Annotated[
        bool, typer.Option("--filters/--no-filters", help="Say which finds are valid, after the search.")
    ] = True,
    strategy: Annotated[str, typer.Option("--strategy", metavar="NAME", help="How to search.")] = "nsga2",
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE|NAME", help="Settings of search and generator.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run's folder; by default runs/check-NNN.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    max_regressions: Annotated[
        int | None, typer.Option("--max-regressions", metavar="N", help="Fail on more judged regressions found.")
    ] = None,
    max_rate: Annotated[
        float | None, typer.Option("--max-rate", metavar="R", help="The share of the data that may regress.")
    ] = None,
    allow: Annotated[
        Path | None, typer.Option("--allow", metavar="FILE", help="Triggers that may regress, one id a line.")
    ] = None,
    save_suite: Annotated[
        Path | None, typer.Option("--save-suite", metavar="PATH", help="Save what is known now, for version control.")
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="For GitLab, Jenkins, GitHub.")] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", metavar="FILE.md", help="For a job's page, in Markdown.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", min=1, metavar="N", help="Images at a time; by default 1,024. Fewer for slow models."),
    ] = None,
    option_a: Annotated[list[str] | None, typer.Option("--a", metavar="KEY=VALUE", help="An option of OLD.")] = None,
    option_b: Annotated[list[str] | None, typer.Option("--b", metavar="KEY=VALUE", help="An option of NEW.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Check a new model against the old one: replay what is known, then search for what is new.

    Exit code 0: it passes. 1: it fails. 2: no verdict, for a mistake or a fault outside. 130: stopped, all is kept.
    """
    from diffgan.check.asserting import limits_of
    from diffgan.check.gate import GateWishes
    from diffgan.check.gate import check as run_check
    from diffgan.cli.live import Terminal
    from diffgan.errors import UsageError
    from diffgan.models.options import parse_assignments
    from diffgan.search.strategies.protocol import DEFAULT_BATCH
    from diffgan.wanted import Wanted

    if resume and out is None:
        raise UsageError("--resume goes on with the run in --out: name its folder.")
    wanted = Wanted(
        data=data,
        generator=generator,
        strategy=strategy,
        budget=limits_of(budget, evaluations),
        config=config,
        out=out,
        resume=resume,
        seed=seed,
        filters=filters,
        discriminator=discriminator,
        batch=batch or DEFAULT_BATCH,
        options_a=parse_assignments(option_a or [], "--a"),
        options_b=parse_assignments(option_b or [], "--b"),
    )
    wishes = GateWishes(
        wanted=wanted,
        suites=tuple(suite or ()),
        judges=tuple(judge or ()),
        allow=allow,
        max_rate=max_rate,
        max_regressions=max_regressions,
        save_suite=save_suite,
        junit=junit,
        summary=summary,
    )
    with stray_output_aside():
        made = run_check(old, new, wishes, Terminal())
    if made.result is None:
        print_note(
            f"Stopped before a verdict; all is kept. To go on, repeat the command with --out {made.folder} --resume."
        )
        raise typer.Exit(130)
    if as_json:
        print_json(made.summary)
    else:
        show(made, made.result)
    if not made.passed:
        raise typer.Exit(1)


def show(made: Checked, result: Result) -> None:
    """The result for people."""
    facts = result.as_json()["data"]
    old, new = result.names
    print_facts(
        f"{new} against {old} on {result.data.name}: {'passed' if result.passed else 'FAILED'}",
        {
            "accuracy": f"{percent(facts['accuracy']['old'])} → {percent(facts['accuracy']['new'])} "
            f"({facts['test']['name']}, p = {facts['test']['p']:.2g})",
            "judges": ", ".join(result.judges) or "none: what the search found is unlabelled, and fails nothing",
            "examples": made.folder / "examples",
            "run": made.folder,
        },
    )
    parts = {part.name: f"{'FAILED' if part.failure else 'passed'}: {part.text}" for part in result.parts}
    print_facts("What was checked", parts)
    for failure in result.failures:
        print_note(f"Failed: {failure}")
