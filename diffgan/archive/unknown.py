"""Verdicts and labels belong to triggers that the archive has."""

from __future__ import annotations

import sqlite3

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError
from diffgan.images import hex_id


def check_written(connection: sqlite3.Connection, ids: NDArray[np.int64], *, written: int, what: str) -> None:
    """Makes sure that every id found its trigger, within the transaction that wrote them.

    Raises:
        DataError: one did not; the transaction is then rolled back.
    """
    if written < len(ids):
        check_known(connection, ids, what=what)


def check_known(connection: sqlite3.Connection, ids: NDArray[np.int64], *, what: str) -> None:
    """Makes sure that the archive has every id.

    Raises:
        DataError: it has not.
    """
    for number in ids.tolist():
        if connection.execute("SELECT 1 FROM known WHERE id = ?", (number,)).fetchone() is None:
            raise DataError(
                f"{what} name the trigger {hex_id(number)}, which this archive does not have: give the archive that "
                "it came from, or leave it out."
            )
