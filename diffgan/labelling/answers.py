"""What the page is told of triggers, clusters and progress, as it goes into JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from diffgan.archive import Archive, StoredTriggers
from diffgan.labelling.desk import Desk
from diffgan.labelling.sheet import INVALID, NOTHING

_SHOWN = 3


def items(desk: Desk, archive: Archive, annotator: str, rows: Sequence[int]) -> list[dict[str, Any]]:
    """What the page shows of triggers."""
    if not rows:
        return []
    catalogue = desk.catalogue
    stored = archive.find(catalogue.ids[list(rows)])
    said = desk.said(annotator, rows)
    clusters = catalogue.cluster[list(rows)].tolist()
    counts = {number: asdict(desk.in_cluster(annotator, number)) for number in set(clusters)}
    return [
        {
            "id": catalogue.hex_id(row),
            "cluster": number,
            "count": counts[number],
            "said": _said(label),
            **_predictions(stored, place),
        }
        for place, (row, number, label) in enumerate(zip(rows, clusters, said, strict=True))
    ]


def _predictions(stored: StoredTriggers, place: int) -> dict[str, Any]:
    """Of each model the label, and its most probable classes, the label first."""
    answers: dict[str, Any] = {}
    for name, labels, outputs in (("a", stored.label_a, stored.outputs_a), ("b", stored.label_b, stored.outputs_b)):
        row = outputs[place].ravel()
        best = np.argsort(-row, kind="stable")[:_SHOWN]
        top = [[int(one), round(float(row[one]), 4)] for one in best]
        answers[name] = {"label": None if labels is None else int(labels[place]), "top": top}
    return answers


def standing(desk: Desk, annotator: str, rows: Sequence[int]) -> dict[str, Any]:
    """How far the annotator has come, and in the cluster of the first row."""
    facts: dict[str, Any] = {"tally": asdict(desk.tally(annotator))}
    if rows:
        cluster = int(desk.catalogue.cluster[rows[0]])
        facts["cluster"] = {"cluster": cluster, **asdict(desk.in_cluster(annotator, cluster))}
    return facts


def cluster_page(desk: Desk, annotator: str, start: int, count: int) -> dict[str, Any]:
    """Some clusters, with an image of each and how far the annotator has come."""
    catalogue, done = desk.clusters(annotator)
    shown = np.flatnonzero(catalogue.sizes)
    listed = [
        {
            "cluster": number,
            "labelled": int(done[number]),
            "total": int(catalogue.sizes[number]),
            "id": catalogue.hex_id(catalogue.members(number)[0]),
        }
        for number in shown[start : start + count].tolist()
    ]
    return {"clusters": listed, "total": len(shown)}


def cluster_members(desk: Desk, annotator: str, cluster: int) -> dict[str, Any]:
    """The triggers of one cluster, and what the annotator says of them."""
    catalogue = desk.catalogue
    rows = catalogue.members(cluster).tolist()
    said = desk.said(annotator, rows)
    listed = [{"id": catalogue.hex_id(row), "said": _said(label)} for row, label in zip(rows, said, strict=True)]
    cells = set(zip(catalogue.label_a[rows].tolist(), catalogue.label_b[rows].tolist(), strict=True))
    return {"cluster": cluster, "cell": cells.pop() if len(cells) == 1 else None, "members": listed}


def _said(label: int) -> int | str | None:
    return None if label == NOTHING else "invalid" if label == INVALID else label
