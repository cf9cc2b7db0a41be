"""Runs to report on: made by hand, with models and data that can be opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from diffgan.archive import Archive, TriggerBatch
from diffgan.datasets import load_dataset
from diffgan.images import ByteImages, ImageSpec

_DIGIT = ImageSpec(1, 8, 8)
DIGITS = tuple(str(number) for number in range(10))


@dataclass(frozen=True)
class Plan:
    """What a run is to hold."""

    count: int = 120
    names: Sequence[str] | None = DIGITS
    labelled: bool = True
    cells: int = 5
    shapes: int = 3
    spec: ImageSpec = _DIGIT
    config: dict[str, Any] | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    seed: int = 0


def write_run(folder: Path, plan: Plan) -> Path:
    """The folder of such a run; A says a trigger's number modulo `cells`, B the next class."""
    folder.mkdir()
    with Archive.create(folder / "archive.db", plan.spec, plan.names) as archive:
        if plan.count:
            archive.add(batch_of(plan))
    if plan.config is not None:
        (folder / "config.yaml").write_text(yaml.safe_dump(plan.config), encoding="utf-8")
    return folder


def batch_of(plan: Plan) -> TriggerBatch:
    """Triggers around a few real digits, so that they have clusters, and all differ."""
    numbers, rng = np.arange(plan.count), np.random.default_rng(plan.seed)
    classes = len(plan.names or DIGITS)
    label_a = numbers % min(plan.cells, classes)
    outputs = np.full((plan.count, classes), 0.4 / max(1, classes - 1), dtype=np.float32)
    outputs_a, outputs_b = outputs.copy(), outputs.copy()
    label_b = (label_a + 1) % classes
    outputs_a[numbers, label_a] = outputs_b[numbers, label_b] = 0.6
    return TriggerBatch(
        images=_images(plan, rng),
        outputs_a=outputs_a,
        outputs_b=outputs_b,
        label_a=label_a if plan.labelled else None,
        label_b=label_b if plan.labelled else None,
        divergence=1 + rng.random(plan.count),
        evaluation=numbers * 10 + 1,
        generation=numbers // 10,
        seconds=numbers / 10,
        queries_a=numbers * 10 + 1,
        queries_b=numbers * 10 + 1,
    )


def _images(plan: Plan, rng: np.random.Generator) -> ByteImages:
    shape = (plan.count, plan.spec.height, plan.spec.width, plan.spec.channels)
    if plan.spec != _DIGIT:
        images = rng.integers(0, 256, shape, dtype=np.uint8)
    else:
        real = load_dataset("digits:test").images[np.arange(plan.count) % plan.shapes]
        images = np.clip(real.astype(np.int64) + rng.integers(-20, 21, shape), 0, 255).astype(np.uint8)
    images[:, 0, 0, 0], images[:, 0, 1, 0] = np.arange(plan.count) % 256, np.arange(plan.count) // 256
    return images


def reject(run: Path, name: str, rows: Sequence[int]) -> None:
    """A filter rejects the triggers with these places in the order of discovery, from 0."""
    with Archive.open(run / "archive.db") as archive:
        ids = archive.column("ids")
        passed = np.ones(len(ids), dtype=np.bool_)
        passed[list(rows)] = False
        archive.verdicts.write(name, ids, passed=passed, scores=passed.astype(np.float64))


def label(run: Path, annotator: str, rows: Sequence[int], classes: Sequence[int | None]) -> None:
    """Somebody says what these triggers show."""
    with Archive.open(run / "archive.db") as archive:
        archive.labels.write(annotator, archive.column("ids")[list(rows)], classes)


def write_model(path: Path, matrix: NDArray[np.float32]) -> Path:
    """A linear model of 8x8 digits: 64 pixels to 10 probabilities."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Flatten", ["image"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"]),
    ]
    taken = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8])
    given = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 10])
    graph = helper.make_graph(nodes, "linear", [taken], [given], [numpy_helper.from_array(matrix, "w")])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))
    return path


def write_generator(path: Path, seed: int) -> Path:
    """A foreign generator of 8x8 images from four genes, with its sidecar."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    mixing = np.random.default_rng(seed).normal(size=(4, 64)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["latent", "w"], ["sum"]), helper.make_node("Sigmoid", ["sum"], ["image"])]
    taken = helper.make_tensor_value_info("latent", TensorProto.FLOAT, ["n", 4])
    given = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 64])
    graph = helper.make_graph(nodes, "mix", [taken], [given], [numpy_helper.from_array(mixing, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    sidecar = {"latent": 4, "prior": {"name": "uniform"}, "image": [1, 8, 8]}
    path.with_name(path.name + ".yaml").write_text(yaml.safe_dump(sidecar), encoding="utf-8")
    return path
