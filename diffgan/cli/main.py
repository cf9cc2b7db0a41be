"""The entry point: commands, and how their errors end."""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import Annotated, NoReturn

import typer

from diffgan import __version__
from diffgan.cli import bench, check, compare, demo, export, filter, gan, inspect, label, labels, report, select  # noqa: A004
from diffgan.cli.console import Forgiving, printable
from diffgan.errors import DiffganError

app = typer.Typer(
    name="diffgan",
    help="Finds the images on which two image classifiers disagree, although they score about the same.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("compare")(compare.compare)
app.command("check")(check.check)
app.command("bench")(bench.bench)
app.command("filter")(filter.filter_)
app.command("label")(label.label)
app.command("report")(report.report)
app.command("inspect")(inspect.inspect)
app.command("export")(export.export)
app.add_typer(gan.app, name="gan")
app.add_typer(labels.app, name="labels")
app.add_typer(select.app, name="select")


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
    """Runs a command; a mistake or a fault from outside ends in one line and exit code 2, Ctrl-C in 130."""
    _print_anywhere()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except DiffganError as error:
        _end(str(error), 2)
    except MemoryError:
        _end("There is not enough memory for that: ask for fewer or smaller images at a time.", 2)
    except OSError as error:
        _discard_output()
        _end(
            f"Cannot go on ({error.strerror or error}): see the disk and the path {error.filename or 'of the output'}.",
            2,
        )
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        _end(_usage_line(error), getattr(error, "exit_code", 2))
    if code == 130:
        _end("interrupted", 130)
    sys.exit(code if isinstance(code, int) else 0)


def _end(line: str, code: int) -> NoReturn:
    sys.stderr.write(f"diffgan: {printable(line)}\n")
    sys.exit(code)


def _usage_line(error: Exception) -> str:
    """What typer found wrong with the call, and where its help is."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "diffgan"
    message = " ".join(error.format_message().split()) if str(error) or error.args else ""  # type: ignore[attr-defined]
    return f"{message.rstrip('.')}: see '{command} --help'." if message else f"see '{command} --help'."


def _print_anywhere() -> None:
    """A terminal or pipe that lacks a character gets another one, a reader that has gone is no error, and a warning is
    one line."""
    for name in ("stdout", "stderr"):
        plain = getattr(sys, name)
        if type(plain) is io.TextIOWrapper:
            setattr(sys, name, Forgiving.instead_of(plain))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    warnings.formatwarning = lambda message, *_args, **_options: f"note: {message}\n"


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
