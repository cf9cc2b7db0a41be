"""The entry point: commands, and how their errors end."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from diffgan import __version__
from diffgan.cli import export, inspect
from diffgan.errors import DiffganError

app = typer.Typer(
    name="diffgan",
    help="Finds the images on which two image classifiers disagree, although they score about the same.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("inspect")(inspect.inspect)
app.command("export")(export.export)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"diffgan {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Runs a command; a user's mistake ends in one line and exit code 2, Ctrl-C in 130."""
    try:
        app(standalone_mode=True)
    except DiffganError as error:
        sys.stderr.write(f"diffgan: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("diffgan: interrupted\n")
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, less) has gone: say nothing, and keep the interpreter from saying it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
