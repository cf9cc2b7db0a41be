"""`diffgan label`: the labelling page."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import print_note, progress

if TYPE_CHECKING:
    from diffgan.labelling.office import Office


def label(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or its archive.db.")],
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="Who labels; your login name by default.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also the triggers that a filter has rejected.")] = False,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="8423 or else a free one by default; 0: a free one.")
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Another address of this machine, for others to reach; it takes a token.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Label triggers on a page in the browser, while a search may still write to the run. Ctrl-C ends it."""
    _check_installed()
    from diffgan.labelling.app import create_app
    from diffgan.labelling.cover import cover_of
    from diffgan.labelling.people import annotator_name, login_name
    from diffgan.labelling.serving import open_place, serve

    path = _archive(run)
    name = login_name() if annotator is None else annotator_name(annotator)
    place = open_place(host, port)
    with place.listening, _office(path, everything=everything) as office:
        before = office.desk.annotators()
        shared = place.rules.token is not None
        cover = cover_of(path.parent, annotator=name, everything=everything, shared=shared)
        print_note(f"{len(office.desk.catalogue.by_cluster):,} triggers to label: {place.address} (Ctrl-C ends it)")
        if not no_browser and _has_screen():
            Thread(target=_open_browser, args=(place.address,), daemon=True).start()
        serve(create_app(office, cover, place.rules), place)
        _show_work(before, office.desk.annotators(), path)


def _check_installed() -> None:
    from diffgan.errors import MissingExtraError

    for package in ("fastapi", "uvicorn"):
        try:
            import_module(package)
        except ImportError:
            raise MissingExtraError(package, "ui", "The labelling page") from None


def _archive(run: Path) -> Path:
    from diffgan.cli.runs import archive_path

    return archive_path(run.parent if run.name == "archive.db" and run.is_file() else run)


def _office(path: Path, *, everything: bool) -> Office:
    from diffgan.labelling.office import Office

    with progress("grouping the triggers", 1) as advance:
        return Office(path, everything=everything, progress=advance)


def _has_screen() -> bool:
    """Whether a browser would open in a window; in a bare terminal, it would take the terminal over."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_browser(address: str) -> None:
    import webbrowser

    webbrowser.open(address)


def _show_work(before: dict[str, int], after: dict[str, int], path: Path) -> None:
    """What this sitting came to."""
    for name, count in after.items():
        more = count - before.get(name, 0)
        if more:
            print_note(f"{abs(more):,} labels {'more' if more > 0 else 'fewer'} by {name}: {count:,} in {path}")
