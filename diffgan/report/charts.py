"""Lines and points as SVG shows them: all sizes in the units of a fixed frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.report.cells import short

WIDTH, HEIGHT = 420, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 24, 36
_POINTS = 160


@dataclass(frozen=True)
class Line:
    """A line with its name; `kind` is what its colour goes by."""

    name: str
    kind: str
    path: str


@dataclass(frozen=True)
class Dot:
    """A point on a chart, and the item of the gallery that it stands for."""

    x: float
    y: float
    item: int
    on_front: bool


@dataclass(frozen=True)
class Chart:
    """A frame with ticks, lines and dots.

    Attributes:
        title: what it shows.
        x_title, y_title: of the axes.
        x_ticks, y_ticks: (place, text).
    """

    title: str
    x_title: str
    y_title: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    lines: list[Line]
    dots: list[Dot]

    width, height = WIDTH, HEIGHT
    left, right, top, bottom = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM


def growth(
    title: str, x_title: str, series: Sequence[tuple[str, str, NDArray[np.float64]]], until: float = 0.0
) -> Chart:
    """Counts that rise by one at each value.

    Args:
        title: of the chart.
        x_title: what the values are.
        series: a name, a kind and ascending values for each line.
        until: where the search ended; by default, each line ends at its last value.
    """
    end = max([until, *(float(values[-1]) for _, _, values in series if len(values))], default=0.0) or 1.0
    most = max((len(values) for _, _, values in series), default=0) or 1
    x_ticks, y_ticks = ticks(0, end), ticks(0, most)
    lines = []
    for name, kind, values in series:
        # A search that ended before the other is not drawn as one that found nothing more.
        at = np.linspace(0, until or (float(values[-1]) if len(values) else end), _POINTS)
        counts = np.searchsorted(values, at, side="right")
        lines.append(Line(name, kind, _path(_x(at, 0, end), _y(counts, 0, most))))
    return Chart(
        title,
        x_title,
        "triggers",
        [(float(_x([value], 0, end)[0]), _written(value)) for value in x_ticks],
        [(float(_y([value], 0, most)[0]), short(int(value))) for value in y_ticks if value == int(value)],
        lines,
        [],
    )


def scatter(title: str, x: NDArray[np.float64], y: NDArray[np.float64], front: Sequence[int]) -> Chart:
    """Points, and those of them that lie in front."""
    left, right, low, high = float(x.min()), float(x.max()), float(y.min()), float(y.max())
    left, right = (left, right) if right > left else (left - 0.5, right + 0.5)
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    across, up, chosen = _x(x, left, right), _y(y, low, high), set(front)
    dots = [Dot(round(float(across[i]), 1), round(float(up[i]), 1), i, i in chosen) for i in range(len(x))]
    return Chart(
        title,
        "divergence",
        "diversity",
        [(float(_x([value], left, right)[0]), _written(value)) for value in ticks(left, right)],
        [(float(_y([value], low, high)[0]), _written(value)) for value in ticks(low, high)],
        [Line("front", "front", _path(across[list(front)], up[list(front)]))],
        sorted(dots, key=lambda dot: dot.on_front),
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values between two others.

    Example:
        >>> ticks(0, 42_000)
        [0.0, 10000.0, 20000.0, 30000.0, 40000.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / most
    size = 10 ** np.floor(np.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.999)
    first = int(np.ceil(low / step - 1e-9))
    return [round(float(number * step), 12) + 0.0 for number in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def _written(value: float) -> str:
    return short(int(value)) if value == int(value) and abs(value) >= 1000 else f"{value:.4g}"


def _x(values: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    return _LEFT + (np.asarray(values, dtype=np.float64) - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)


def _y(values: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    return HEIGHT - _BOTTOM - (np.asarray(values, dtype=np.float64) - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM)


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)) if len(x) else ""
