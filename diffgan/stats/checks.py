"""What every statistic asks of its input, said in one line when it is not so."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.errors import DataError, UsageError

Floats = NDArray[np.float64]


def check_sample(values: ArrayLike, name: str) -> Floats:
    """The values as a one-dimensional float64 array, at least one of them, none of them NaN or infinite.

    Raises:
        DataError: they are not; the message starts with `name`.
    """
    sample = check_numbers(values, name)
    if sample.ndim != 1:
        raise DataError(f"{name} has shape {sample.shape}; expected (n,): pass one row of numbers.")
    return sample


def check_numbers(values: ArrayLike, name: str) -> Floats:
    """The values as a float64 array with at least one row, none of them NaN or infinite.

    Raises:
        DataError: they are not; the message starts with `name`.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} holds something that is not a number ({error}): pass numbers only.") from None
    if numbers.ndim == 0 or len(numbers) == 0:
        raise DataError(f"{name} is empty; expected at least one value.")
    broken = np.count_nonzero(~np.isfinite(numbers))
    if broken:
        raise DataError(f"{name} holds {broken} values that are NaN or infinite: remove them first.")
    return numbers


def check_share(value: float, name: str) -> float:
    """The value, once it is certain to lie in [0, 1].

    Raises:
        UsageError: it does not (NaN included).
    """
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is {value}; expected a number from 0 to 1.")
    return float(value)


def check_level(level: float) -> float:
    """The confidence level, once it is certain to lie strictly between 0 and 1.

    Raises:
        UsageError: it does not.
    """
    if not 0 < level < 1:
        raise UsageError(f"The confidence level is {level}; expected a number between 0 and 1, such as 0.95.")
    return float(level)


def check_count(value: int, name: str) -> int:
    """The value as an int, once it is certain to be a whole number and not negative.

    Raises:
        DataError: it is not.
    """
    if not np.isfinite(value) or value != int(value) or value < 0:
        raise DataError(f"{name} is {value}; expected a whole number, 0 or more.")
    return int(value)
