"""Runs the cells of a study, one after the other, and writes each one's row when it is over."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from diffgan.bench.cells import Cell, cells_of, fingerprint_of
from diffgan.bench.lock import alone_against_the_clock, locked
from diffgan.bench.measuring import figures_of
from diffgan.bench.opening import Opened, open_study
from diffgan.bench.rows import DONE, FAILED, Row, Rows
from diffgan.bench.study import Study
from diffgan.errors import ArchiveError, DiffganError, UsageError
from diffgan.models.pairs import load_pair
from diffgan.pipeline import run
from diffgan.runs import environment
from diffgan.search.budgets import Budget
from diffgan.search.loop import Moment, Search
from diffgan.wanted import Wanted
from diffgan.watching import Silent

_RUNS = "runs"

#: Of the environment, what figures may depend on and what names no machine.
_RECORDED = ("python", "machine", "cores", "torch_threads", "packages")


#: Called with the part of a cell's budget that is used up.
Going = Callable[[float], None]


class Teller(Protocol):
    """Is told how a bench goes."""

    def note(self, text: str) -> None:
        """A remark."""
        ...

    def going(self, cell: Cell, done: float, cells: int) -> None:
        """A cell is under way; how many of all cells are done, and the part of this one's budget that is used up."""
        ...

    def over(self, row: Row, *, place: int, cells: int, seconds_left: float) -> None:
        """A cell is over: the `place`-th of all; about how long the rest takes."""
        ...


@dataclass(frozen=True)
class Benched:
    """What a bench came to.

    Attributes:
        study: as it was read.
        rows: of all its cells that were ever over, in their order.
        cells: how many cells the study has.
        initial: of each pair, the disagreements among the data's own images.
        interrupted: whether Ctrl-C ended it.
        others: how many rows of the folder belong to no cell of the study.
    """

    study: Study
    rows: list[Row]
    cells: int
    initial: dict[str, dict[str, Any]]
    interrupted: bool = False
    others: int = 0

    @property
    def failed(self) -> list[Row]:
        """The cells that failed when they were last tried."""
        return [row for row in self.rows if row["status"] == FAILED]

    @property
    def done(self) -> list[Row]:
        """The cells with figures."""
        return [row for row in self.rows if row["status"] == DONE]


def bench(study: Study, out: Path, teller: Teller) -> Benched:
    """Runs what is not done yet; a cell that fails is recorded, and the rest goes on.

    Args:
        study: see `study_files.read_study`.
        out: the folder of the rows; what it holds already is not measured again.
        teller: told how it goes.

    Raises:
        DiffganError: something does not fit, or another bench runs in the folder, or a timed one beside this timed one.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be written to ({error.strerror}): give another --out.") from error
    with locked(out):
        rows = Rows(out)
        opened = open_study(study, teller.note)
        cells = cells_of(study)
        rows.check({cell.key: opened.definition_of(cell) for cell in cells})
        missing = [cell.key for cell in cells if rows.is_done(cell.key) and not _folder_of(cell, out).is_dir()]
        if study.keep_runs and missing:
            teller.note(f"The runs of {len(missing)} cells that were done before are not there ({missing[0]}, …).")
        interrupted = False
        try:
            if not all(rows.is_done(cell.key) for cell in cells):
                with nullcontext() if study.budget.seconds is None else alone_against_the_clock():
                    _run_all(cells, opened, rows, out, teller)
        except KeyboardInterrupt:
            interrupted = True
        keys = {cell.key for cell in cells}
        return Benched(
            study=study,
            rows=[row for cell in cells if (row := rows.get(cell.key)) is not None],
            cells=len(cells),
            initial=dict(opened.initial),
            interrupted=interrupted,
            others=sum(key not in keys for key in rows.keys()),  # noqa: SIM118 - it is no mapping
        )


def _run_all(cells: list[Cell], opened: Opened, rows: Rows, out: Path, teller: Teller) -> None:
    left = [cell for cell in cells if not rows.is_done(cell.key)]
    done = len(cells) - len(left)
    took = [row["wall_seconds"] for cell in cells if (row := rows.get(cell.key)) is not None]
    for place, cell in enumerate(left, done + 1):

        def going(share: float, cell: Cell = cell, before: int = place - 1) -> None:
            teller.going(cell, before + share, len(cells))

        row = _row_of(cell, opened, out, going)
        rows.append(row)
        took.append(row["wall_seconds"])
        mean = sum(took) / len(took)
        teller.over(row, place=place, cells=len(cells), seconds_left=mean * (len(cells) - place))


def _folder_of(cell: Cell, out: Path) -> Path:
    return out / _RUNS / cell.key.replace("/", "__")


def _row_of(cell: Cell, opened: Opened, out: Path, going: Going) -> Row:
    """Runs, judges, and tidies up, also after an interrupt."""
    started = perf_counter()
    definition = opened.definition_of(cell)
    row: Row = {
        "cell": cell.key,
        "pair": cell.pair,
        "generator": cell.generator,
        "strategy": cell.strategy,
        "seed": cell.seed,
        "fingerprint": fingerprint_of(definition),
    }
    folder = _folder_of(cell, out)
    with _run_folder(folder, keep=opened.study.keep_runs):
        try:
            row |= {"status": DONE} | _figures(cell, opened, folder, going)
        except Exception as error:  # noqa: BLE001 - whatever a strategy or model does, the other cells are measured
            row |= {"status": FAILED, "error": _brief(error)}
    here = environment()
    return row | {
        "wall_seconds": round(perf_counter() - started, 3),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "initial": opened.initial[cell.pair],
        "environment": {name: here[name] for name in _RECORDED},
        "definition": definition,
    }


def _figures(cell: Cell, opened: Opened, folder: Path, going: Going) -> Row:
    study = opened.study
    pair, plan = study.pairs[cell.pair], study.strategies[cell.strategy]
    wanted = Wanted(
        data=opened.data,
        generator=None if cell.generator is None else study.generators[cell.generator],
        strategy=study.registered(cell.strategy),
        settings=plan.settings,
        budget=Budget(seconds=study.budget.seconds, evaluations=study.budget.evaluations),
        out=folder,
        seed=cell.seed,
        batch=study.batch,
        filters=False,
        discriminator=None if study.discriminator is None else Path(study.discriminator),
        report=False,
    )
    models = load_pair(pair.a, pair.b, spec=opened.data.spec, options=(pair.options_a, pair.options_b))
    try:
        made = run(*models, wanted, _Watching(going))
    finally:
        for model in models:
            model.close()
    searched = perf_counter()
    figures = figures_of(made, opened, seed=cell.seed)
    return {**figures, "judging_seconds": round(perf_counter() - searched, 3)}


class _Watching(Silent):
    """Passes on how far a search is; a remark of the pipeline's is for people who start one run."""

    def __init__(self, going: Going) -> None:
        self._going = going

    @contextmanager
    def searching(self, search: Search, classes: tuple[str, ...]) -> Iterator[Callable[[Moment], None]]:
        """See `Watcher`."""
        del search, classes
        yield lambda moment: self._going(moment.share)


@contextmanager
def _run_folder(folder: Path, *, keep: bool) -> Iterator[None]:
    """Gone before, and gone afterwards, unless it is to be kept."""
    _remove(folder)
    try:
        yield
    except BaseException:
        _remove(folder)
        raise
    if not keep:
        _remove(folder)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
        folder.parent.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        if folder.exists():
            raise ArchiveError(f"{folder} cannot be removed ({error.strerror}): remove it.") from error


def _brief(error: Exception) -> str:
    """One line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, DiffganError) else f"{type(error).__name__}: {text}".rstrip(": ")
