"""Puts the report together, and writes it."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from diffgan._version import __version__
from diffgan.datasets import Dataset
from diffgan.drafts import replacing
from diffgan.errors import UsageError
from diffgan.filters.validity import in_percent
from diffgan.report import verdict
from diffgan.report.beside import beside_of
from diffgan.report.cells import matrix_of
from diffgan.report.exhibits import exhibits_of
from diffgan.report.labelled import labelled_of, selector_of
from diffgan.report.landscape import COLOURED, landscape_of
from diffgan.report.measured import Models, measure
from diffgan.report.parts import charts_of, dots_of, filters_of, front_of, gallery_of, generator_of, time_shares_of
from diffgan.report.rerun import as_called, command_of, settings_of
from diffgan.report.run import Run, section

FILE = "report.html"


def write_report(
    run: Path,
    *,
    out: Path | None = None,
    compare: Path | None = None,
    selector: Path | None = None,
    models: Models | None = None,
    data: Dataset | None = None,
) -> Path:
    """Writes the report of a run.

    Args:
        run: its folder.
        out: the file; `report.html` in the folder by default.
        compare: the folder of another run, to stand beside it.
        selector: the folder of a selector; `selector` in the run's folder by default, where there is one.
        models: both models, where they are open already; otherwise those that the folder names, if they are files.
        data: the run's, where it is loaded already.

    Returns:
        The file.

    Raises:
        DiffganError: there is no such run, or the file cannot be written.
    """
    target = out or run / FILE
    if target.is_dir():
        raise UsageError(f"{target} is a folder, where a file for the report is expected: give --out FILE.html.")
    content = render(run, compare=compare, selector=selector, models=models, data=data)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as draft:
            draft.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written ({error.strerror}): give another --out.") from error
    return target


def render(
    path: Path,
    *,
    compare: Path | None = None,
    selector: Path | None = None,
    models: Models | None = None,
    data: Dataset | None = None,
) -> str:
    """The report's HTML; arguments as of `write_report`."""
    run = Run.read(path)
    other = None if compare is None else Run.read(compare)
    measured = measure(run, models, data)
    dataset = None if isinstance(measured.dataset, str) else measured.dataset
    matrix, labelled = matrix_of(run), labelled_of(run)
    landscape = landscape_of(run, dataset)
    exhibits = exhibits_of(run, landscape, measured, labelled, other)
    return _filled(
        run=run,
        sentences=(verdict.how_often(run, measured), verdict.on_what(run, matrix, labelled)),
        measured=measured,
        matrix=matrix,
        labelled=labelled,
        selector=selector_of(run, selector),
        landscape=landscape,
        exhibits=exhibits,
        dots=dots_of(landscape, exhibits),
        coloured=COLOURED,
        front=front_of(landscape, exhibits),
        charts=charts_of(run),
        filters=filters_of(run),
        generator=generator_of(run),
        tasks=time_shares_of(run),
        command=command_of(run),
        called=as_called(run),
        settings=settings_of(run),
        beside=None if other is None else beside_of(run, other, measured, labelled),
        gallery=gallery_of(run, matrix, exhibits),
    )


def _filled(**parts: object) -> str:
    """The template with its parts, the style and the script."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    page = Path(str(files("diffgan.report") / "page"))
    style, script = ((page / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    environment = Environment(
        loader=FileSystemLoader(page), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["grouped"] = lambda value: f"{value:,}"
    environment.filters["percent"] = in_percent
    environment.globals |= {"section": section, "with_interval": verdict.with_interval, "asked": verdict.asked}
    return environment.get_template("report.html.jinja").render(
        style=_Trusted(style),
        script=_Trusted(script),
        policy=_policy(style, script),
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        **parts,
    )


class _Trusted(str):
    """Text of our own that goes into the page as it is: the style and the script, whose digests the policy names."""

    def __html__(self) -> str:
        return self


def _policy(style: str, script: str) -> str:
    """Nothing is fetched, and nothing runs but our own."""
    digests = (f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, script))
    allowed_style, allowed_script = digests
    return (
        f"default-src 'none'; img-src data:; style-src {allowed_style}; script-src {allowed_script}; "
        "base-uri 'none'; form-action 'none'"
    )
