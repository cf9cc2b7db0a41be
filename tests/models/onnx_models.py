"""Small ONNX models made for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PIXELS = 16


def weights(seed: int = 0, classes: int = 3) -> np.ndarray:
    """A random dense layer over 4x4 grey images."""
    return np.random.default_rng(seed).normal(size=(PIXELS, classes)).astype(np.float32)


def write_dense(
    path: Path, *, matrix: np.ndarray, batch: Any = "n", softmax: bool = True, dtype: int = TensorProto.FLOAT
) -> Path:
    """Flatten, multiply, and (if wanted) softmax; features are the flattened pixels."""
    nodes = [
        helper.make_node("Cast", ["image"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Flatten", ["float"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"]),
    ]
    first = "probabilities" if softmax else "logits"
    second = "logits" if softmax else "probabilities"
    classes = matrix.shape[1]
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("image", dtype, [batch, 1, 4, 4])],
        [
            helper.make_tensor_value_info(first, TensorProto.FLOAT, [batch, classes]),
            helper.make_tensor_value_info(second, TensorProto.FLOAT, [batch, classes]),
            helper.make_tensor_value_info("flat", TensorProto.FLOAT, [batch, PIXELS]),
        ],
        [numpy_helper.from_array(matrix, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


def write_external(path: Path, *, matrix: np.ndarray, location: str) -> Path:
    """The same, with its weights in another file; the location is written as it is given."""
    write_dense(path, matrix=matrix)
    model = onnx.load(str(path))
    tensor = model.graph.initializer[0]
    payload = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    target = path.parent / location
    if target.parent.is_dir():
        target.write_bytes(payload)
    path.write_bytes(model.SerializeToString())
    return path


def softmax(logits: np.ndarray) -> np.ndarray:
    """Rows of probabilities."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
