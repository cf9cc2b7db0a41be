"""`diffgan labels`: what people and judges say that triggers show, in and out, and how far they agree."""

from __future__ import annotations

import typer

from diffgan.cli.labels_agreement import agreement, conflicts
from diffgan.cli.labels_files import export, import_
from diffgan.cli.labels_judge import judge

app = typer.Typer(
    help="Labels of triggers: from files, to files, from judges, and how far they agree.", no_args_is_help=True
)
app.command("import")(import_)
app.command("export")(export)
app.command("judge")(judge)
app.command("agreement")(agreement)
app.command("conflicts")(conflicts)
