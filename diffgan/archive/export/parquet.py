"""One parquet file that `datasets.load_dataset("parquet", data_files=...)` opens with images decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive.export.names import safe_names
from diffgan.archive.export.plan import Plan
from diffgan.archive.export.png import encode_png
from diffgan.archive.records import NO_INDEX, NO_PARENT, StoredTriggers
from diffgan.errors import MissingExtraError
from diffgan.images import hex_id

_COUNTS = ("evaluation", "generation", "queries_a", "queries_b")
_REALS = ("divergence", "seconds")
_INDICES = ("label_a", "label_b", "classes", "seed_index")


def write_parquet(plan: Plan, draft: Path) -> None:
    """Writes `draft`, a row group per batch.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", "Exporting parquet") from error

    schema = _schema(pa, plan)
    done = 0
    with pq.ParquetWriter(draft, schema) as writer:
        for batch in plan.archive.batches(kept_only=plan.kept_only):
            columns = [_column(pa, batch, field) for field in schema]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            done += len(batch)
            plan.report(done, plan.rows)


def _schema(pa: Any, plan: Plan) -> Any:
    archive = plan.archive
    fields = [
        ("id", pa.string()),
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        *((name, pa.int64()) for name in _INDICES),
        *((name, pa.int64()) for name in _COUNTS),
        *((name, pa.float64()) for name in _REALS),
        ("prob_a", _nested(pa, archive.layout.outputs_a)),
        ("prob_b", _nested(pa, archive.layout.outputs_b)),
        ("latents", _nested(pa, archive.layout.latents)),
        ("parent", pa.int64()),
        ("kept", pa.bool_()),
    ]
    fields = [field for field in fields if field[0] not in ("latents", "classes") or archive.has(field[0])]
    return pa.schema(fields, metadata={"huggingface": json.dumps({"info": {"features": _features(plan)}})})


def _features(plan: Plan) -> dict[str, Any]:
    """What the datasets library cannot tell from the column types."""
    features: dict[str, Any] = {"image": {"_type": "Image"}}
    counts = plan.archive.disagreement()
    labels = [label for pair in counts for label in pair if label is not None]
    names = plan.archive.class_names
    if names and (labels or not counts):
        known = {"_type": "ClassLabel", "names": _distinct(names, max([len(names) - 1, *labels]) + 1)}
        features |= {"label_a": known, "label_b": known}
    return features


def _distinct(names: tuple[str, ...], count: int) -> list[str]:
    """The class names as given if they differ, as the library demands; otherwise made to differ."""
    return list(names) if len(set(names)) == len(names) == count else list(safe_names(names, count))


def _nested(pa: Any, shape: tuple[int, ...] | None) -> Any:
    if not shape:
        return pa.list_(pa.float32())
    kind = pa.float32()
    for size in reversed(shape):
        kind = pa.list_(kind, size)
    return kind


def _column(pa: Any, batch: StoredTriggers, field: Any) -> Any:
    name = field.name
    if name == "id":
        return pa.array(batch.hex_ids, field.type)
    if name == "image":
        pictures = [{"bytes": encode_png(image), "path": f"{hex_id(i)}.png"} for image, i in _pairs(batch)]
        return pa.array(pictures, field.type)
    if name in ("prob_a", "prob_b", "latents"):
        values = getattr(batch, {"prob_a": "outputs_a", "prob_b": "outputs_b"}.get(name, name))
        return _lists(pa, values, field.type, len(batch))
    if name == "parent":
        if batch.parent is None:
            return pa.nulls(len(batch), field.type)
        return pa.array(batch.parent, field.type, mask=batch.parent == NO_PARENT)
    values = getattr(batch, name)
    if values is None:
        return pa.nulls(len(batch), field.type)
    absent = values == NO_INDEX if name in _INDICES else None
    return pa.array(values, field.type, mask=absent)


def _pairs(batch: StoredTriggers) -> zip[tuple[Any, Any]]:
    return zip(batch.images, batch.ids, strict=True)


def _lists(pa: Any, values: NDArray[np.float32] | None, kind: Any, rows: int) -> Any:
    """An N x ... array as lists of fixed size; a row of NaN only is null."""
    if values is None:
        return pa.nulls(rows, kind)
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    for size in reversed(values.shape[2:]):
        flat = pa.FixedSizeListArray.from_arrays(flat, size)
    absent = pa.array(np.isnan(values).reshape(rows, -1).all(axis=1))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1], mask=absent)
