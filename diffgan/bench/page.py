"""A bench's results as one page for a browser, which needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from diffgan._version import __version__
from diffgan.bench.curves import Frame, frame_of
from diffgan.bench.tables import Block, Results, rows_by_strategy
from diffgan.bench.wording import CALLED, PROTOCOL, initial_of, tables_of, title_of

_PAGE = "bench.html.jinja"


def as_page(results: Results) -> str:
    """The file's text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = Path(str(files("diffgan.bench") / "page"))
    style = (folder / "bench.css").read_text(encoding="utf-8")
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made = results.benched
    return environment.get_template(_PAGE).render(
        style=_Trusted(style),
        policy=_policy(style),
        version=__version__,
        study=made.study,
        done=len(made.done),
        cells=made.cells,
        failed=made.failed,
        protocol=PROTOCOL,
        finished=max((row["finished"] for row in made.rows), default=""),
        blocks=[_shown(results, block) for block in results.blocks],
        environments=_environments(results),
    )


def _shown(results: Results, block: Block) -> dict[str, Any]:
    return {
        "title": title_of(block),
        "initial": initial_of(block),
        "frames": _frames(results, block),
        "tables": tables_of(results, block),
    }


def _frames(results: Results, block: Block) -> list[Frame]:
    rows = rows_by_strategy(results.benched, block.pair, block.generator)
    called = CALLED[results.headline]
    made = [frame_of(rows, by=by, headline=results.headline, called=called) for by in ("seconds", "queries")]
    return [frame for frame in made if frame is not None]


def _environments(results: Results) -> list[dict[str, str]]:
    """On what the rows were measured, each kind of machine once."""
    told: dict[str, dict[str, str]] = {}
    for row in results.benched.rows:
        here = row["environment"]
        packages = ", ".join(f"{name} {version}" for name, version in here["packages"].items() if version)
        text = {
            "machine": f"{here['machine']}, {here['cores']} cores, {here['torch_threads']} threads of torch",
            "software": f"Python {here['python']}, {packages}",
        }
        told[repr(text)] = text
    return list(told.values())


class _Trusted(str):
    """Text of our own that goes into the page as it is: the style, whose digest the policy names."""

    def __html__(self) -> str:
        return self


def _policy(style: str) -> str:
    """Nothing is fetched, and nothing runs."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
