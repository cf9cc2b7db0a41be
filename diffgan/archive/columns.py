"""How each column of triggers passes between numpy and SQLite."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from diffgan.archive.layout import Layout, Shape
from diffgan.archive.records import NO_INDEX, NO_PARENT, TriggerBatch

KEPT = "NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.trigger = triggers.number AND v.passed = 0)"


@dataclass(frozen=True)
class Column:
    """One column: `sql` is what SQLite calls it, `missing` what stands for NULL in memory, if NULL may be."""

    name: str
    kind: Literal["integer", "real", "flag", "bytes", "floats"]
    missing: float | None = None
    sql: str = ""

    @property
    def expression(self) -> str:
        """What to SELECT."""
        return self.sql or self.name


STORED = (
    Column("label_a", "integer", NO_INDEX),
    Column("label_b", "integer", NO_INDEX),
    Column("divergence", "real"),
    Column("evaluation", "integer"),
    Column("generation", "integer"),
    Column("seconds", "real"),
    Column("queries_a", "integer"),
    Column("queries_b", "integer"),
    Column("classes", "integer", NO_INDEX),
    Column("seed_index", "integer", NO_INDEX),
    Column("parent", "integer", NO_PARENT),
    Column("outputs_a", "floats"),
    Column("outputs_b", "floats"),
    Column("latents", "floats", math.nan),
    Column("images", "bytes"),
)
ALL = (
    Column("numbers", "integer", sql="number"),
    Column("ids", "integer", sql="id"),
    *STORED,
    Column("kept", "flag", sql=KEPT),
)
BY_NAME = {column.name: column for column in ALL}

LONG = tuple(column for column in STORED if column.kind in ("bytes", "floats"))
SHORT = tuple(column for column in STORED if column not in LONG)


def source_of(wanted: Sequence[Column]) -> str:
    """The tables to SELECT these columns from; CROSS keeps SQLite from reading the long one first."""
    return "triggers CROSS JOIN blobs USING (number)" if any(column in LONG for column in wanted) else "triggers"


def insert(connection: sqlite3.Connection, batch: TriggerBatch, ids: Sequence[int], first: int) -> None:
    """Writes rows under the numbers from `first`, within the caller's transaction."""
    numbers = range(first, first + len(ids))
    short = zip(numbers, ids, *(_encode_column(column, getattr(batch, column.name)) for column in SHORT), strict=False)
    long = zip(numbers, *(_encode_column(column, getattr(batch, column.name)) for column in LONG), strict=False)
    connection.executemany(_insertion("triggers", ("number", "id"), SHORT), short)
    connection.executemany(_insertion("blobs", ("number",), LONG), long)


def _insertion(table: str, keys: tuple[str, ...], columns: Sequence[Column]) -> str:
    names = (*keys, *(column.name for column in columns))
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _encode_column(column: Column, values: NDArray[Any] | None) -> Iterable[Any]:
    if values is None:
        return repeat(None)
    if column in LONG:
        return _blobs(column, values)
    listed: list[Any] = values.tolist()
    if column.missing is not None and (values == column.missing).any():
        return [None if value == column.missing else value for value in listed]
    return listed


def _blobs(column: Column, values: NDArray[Any]) -> Sequence[bytes | None]:
    rows = np.ascontiguousarray(values, dtype=_dtype(column)).reshape(len(values), math.prod(values.shape[1:]))
    everything = rows.tobytes()
    size = rows.shape[1] * rows.itemsize
    blobs: list[bytes | None] = [everything[start : start + size] for start in range(0, len(everything), size)]
    if column.missing is not None:
        for row in np.flatnonzero(np.isnan(rows).all(axis=1)):
            blobs[row] = None
    return blobs


def decode(column: Column, values: Sequence[Any], layout: Layout) -> NDArray[Any]:
    """The values that SQLite gave, as an array, with `column.missing` for NULL.

    Raises:
        ValueError, TypeError: the values are not what the column holds: the file is damaged.
    """
    if column in LONG:
        return _decode_blobs(column, values, layout.shape(column.name))
    if column.missing is not None:
        values = [column.missing if value is None else value for value in values]
    if column.kind == "real":
        return np.array(values, dtype=np.float64)
    numbers = np.array(values, dtype=np.int64)
    return numbers.astype(np.bool_) if column.kind == "flag" else numbers


def is_absent(column: Column, values: NDArray[Any]) -> bool:
    """Whether a column that may be absent has no value in any row."""
    if column.missing is None or not len(values):
        return False
    return bool(np.isnan(values).all() if column.kind == "floats" else (values == column.missing).all())


def empty(column: Column, layout: Layout) -> NDArray[Any]:
    """No rows of a column, in the shape that rows have or will have."""
    if column in LONG:
        return np.zeros((0, *(layout.shape(column.name) or (0,))), dtype=_dtype(column))
    return np.zeros(0, dtype={"real": np.float64, "flag": np.bool_}.get(column.kind, np.int64))


def row_bytes(layout: Layout) -> int:
    """About how much memory one row takes."""
    return 256 + sum(math.prod(layout.shape(column.name) or (0,)) * _dtype(column).itemsize for column in LONG)


def _decode_blobs(column: Column, values: Sequence[Any], shape: Shape | None) -> NDArray[Any]:
    shape = (0,) if shape is None else shape
    size = math.prod(shape) * _dtype(column).itemsize
    if column.missing is not None:
        absent = np.full(shape, column.missing, dtype=_dtype(column)).tobytes()
        values = [absent if value is None else value for value in values]
    if any(len(value) != size for value in values):
        raise ValueError(f"{column.name} of a row are not {size} bytes")
    return np.frombuffer(bytearray().join(values), dtype=_dtype(column)).reshape(len(values), *shape)


def _dtype(column: Column) -> np.dtype[Any]:
    return np.dtype(np.uint8) if column.kind == "bytes" else np.dtype("<f4")
