"""Curves over time and over queries as SVG shows them: the median over seeds, and the middle half as a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.bench.rows import Row
from diffgan.report.cells import short
from diffgan.report.charts import ticks

WIDTH, HEIGHT = 520, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 16, 40
_GRID = 121

#: Colours that the page's style has.
COLOURS = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """A strategy's: paths of its median and of its band, and the number of its colour."""

    name: str
    colour: int
    median: str
    band: str


@dataclass(frozen=True)
class Frame:
    """A chart; `x_ticks` and `y_ticks` are (place, text)."""

    title: str
    x_title: str
    y_title: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    curves: list[Curve]

    width, height = WIDTH, HEIGHT
    left, right, top, bottom = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM


@dataclass(frozen=True, eq=False)
class _Spread:
    """What a strategy had found at each place of its grid, over its seeds."""

    at: Floats
    middle: Floats
    low: Floats
    high: Floats


def frame_of(rows: Mapping[str, Sequence[Row]], *, by: str, headline: str, called: str) -> Frame | None:
    """The chart of a pair and generator; None where no strategy has a run.

    Args:
        rows: finished ones, by strategy.
        by: `seconds` or `queries`.
        headline: `dv` or `unique`.
        called: what the page calls that.
    """
    spreads = {name: _spread(its, by, headline) for name, its in rows.items() if its}
    if not spreads:
        return None
    end = max(float(spread.at[-1]) for spread in spreads.values()) or 1.0
    most = max(float(spread.high.max()) for spread in spreads.values()) or 1.0
    colours = {name: place % COLOURS + 1 for place, name in enumerate(rows)}
    title = "By time" if by == "seconds" else "By queries"
    return Frame(
        title=title,
        x_title="seconds of search" if by == "seconds" else "queries to both models",
        y_title=called,
        x_ticks=[(_x(value, end), _tick(value)) for value in ticks(0, end)],
        y_ticks=[(_y(value, most), _tick(value)) for value in ticks(0, most)],
        curves=[_curve(name, colours[name], spread, end, most) for name, spread in spreads.items()],
    )


def counted_at(row: Row, places: Floats, by: str, headline: str) -> Floats:
    """How many had been found at these places, from the stored points of the curve.

    Between two stored points the curve is a straight line; a stored point counts from where it stands.
    """
    curve = row[f"{headline}_curve"]
    if not curve["count"]:
        return np.zeros(len(places))
    at, counts = np.array([0.0, *curve[by]]), np.array([0.0, *curve["count"]])
    # Of several points at one place, as a batch gives them, the last one holds from there on.
    last = np.append(np.diff(at) > 0, True)
    return np.asarray(np.interp(places, at[last], counts[last]), dtype=np.float64)


def _spread(rows: Sequence[Row], by: str, headline: str) -> _Spread:
    """Up to where its shortest run ended: beyond it, the median would be of fewer runs."""
    at = np.linspace(0, min(row[by] for row in rows), _GRID)
    values = np.stack([counted_at(row, at, by, headline) for row in rows])
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    return _Spread(at, middle, low, high)


def _curve(name: str, colour: int, spread: _Spread, end: float, most: float) -> Curve:
    there = _points(spread.at, spread.high, end, most)
    back = _points(spread.at[::-1], spread.low[::-1], end, most)
    return Curve(name, colour, f"M{_points(spread.at, spread.middle, end, most)}", f"M{there}L{back}Z")


def _points(at: Floats, values: Floats, end: float, most: float) -> str:
    pairs = zip(at.tolist(), values.tolist(), strict=True)
    return "L".join(f"{_x(x, end):.1f} {_y(y, most):.1f}" for x, y in pairs)


def _x(value: float, end: float) -> float:
    return _LEFT + value / end * (WIDTH - _LEFT - _RIGHT)


def _y(value: float, most: float) -> float:
    return HEIGHT - _BOTTOM - value / most * (HEIGHT - _TOP - _BOTTOM)


def _tick(value: float) -> str:
    return short(int(value)) if value == int(value) else f"{value:.3g}"
