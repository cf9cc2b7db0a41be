"""One npz file, as `numpy.load` reads it without pickle."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import columns
from diffgan.archive.export.plan import Plan
from diffgan.images import hex_id


@dataclass(frozen=True)
class _Field:
    """An array of the npz, and the column that it comes from."""

    name: str
    column: str
    turn: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray


def _hex(ids: NDArray[Any]) -> NDArray[Any]:
    return np.array([hex_id(number) for number in ids], dtype="<U16")


_FIELDS = (
    _Field("id", "ids", _hex),
    _Field("images", "images"),
    _Field("label_a", "label_a"),
    _Field("label_b", "label_b"),
    _Field("prob_a", "outputs_a"),
    _Field("prob_b", "outputs_b"),
    _Field("kept", "kept"),
    _Field("latents", "latents"),
    _Field("classes", "classes"),
    _Field("seconds", "seconds"),
    _Field("evaluation", "evaluation"),
)
_OPTIONAL = {"latents", "classes"}


def write_npz(plan: Plan, draft: Path) -> None:
    """Writes `draft`, one field after the other, so that memory stays bounded.

    A label, class or latent that a row lacks is -1 or NaN; `latents` and `classes` are left out where no row has them.
    """
    fields = [field for field in _FIELDS if field.column not in _OPTIONAL or plan.archive.has(field.column)]
    total, done = plan.rows * len(fields), 0
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED, allowZip64=True) as bundle:
        for field in fields:
            with bundle.open(f"{field.name}.npy", "w", force_zip64=True) as file:
                file.write(_header(plan, field))
                for part in _parts(plan, field):
                    file.write(np.ascontiguousarray(part).data)
                    done += len(part)
                    plan.report(done, total)


def _parts(plan: Plan, field: _Field) -> Iterator[NDArray[Any]]:
    for page in plan.archive.stream(field.column, kept_only=plan.kept_only):
        yield field.turn(page[field.column])


def _header(plan: Plan, field: _Field) -> bytes:
    """What numpy writes before the values, for all rows at once."""
    none = field.turn(columns.empty(columns.BY_NAME[field.column], plan.archive.layout))
    described = np.lib.format.header_data_from_array_1_0(none)
    described["shape"] = (plan.rows, *none.shape[1:])
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(text, described)
    return text.getvalue()
