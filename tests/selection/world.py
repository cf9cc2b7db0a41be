"""A small world of digits: two models that each see half of an image, a judge, and a generator that mixes digits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from diffgan.archive import Archive
from diffgan.datasets import load_dataset
from diffgan.labels.judging import judge_triggers
from diffgan.models import load_classifier
from diffgan.pipeline import compare

DATA = "digits:test"
EVALUATIONS = 2500


@dataclass(frozen=True)
class World:
    """Files.

    Attributes:
        a: a model that sees the upper half.
        b: a model that sees the lower half.
        judge: a model that sees all.
        generator: of images between two digits.
        run, other: labelled runs of the pair, of two seeds.
    """

    a: Path
    b: Path
    judge: Path
    generator: Path
    run: Path
    other: Path


def build(folder: Path) -> World:
    """Trains the models and makes the runs: some seconds."""
    top = np.arange(64).reshape(8, 8) < 32
    world = World(
        a=write_linear(folder / "upper.onnx", "digits:models", top.ravel()),
        b=write_linear(folder / "lower.onnx", "digits:models", ~top.ravel()),
        judge=write_linear(folder / "judge.onnx", "digits:judge", np.ones(64, dtype=np.bool_)),
        generator=write_generator(folder / "mixer.pt"),
        run=folder / "run",
        other=folder / "other",
    )
    for seed, run in enumerate((world.run, world.other)):
        search(world, run, seed)
        label(world, run)
    return world


def search(world: World, out: Path, seed: int, *, evaluations: int = EVALUATIONS) -> None:
    """A run of the pair, without labels."""
    asked: dict[str, Any] = {
        "data": DATA,
        "generator": world.generator,
        "strategy": "random",
        "evaluations": evaluations,
    }
    compare(world.a, world.b, out=out, seed=seed, filters=False, report=False, **asked)


def label(world: World, run: Path) -> None:
    """All triggers, by the judge."""
    data = load_dataset(DATA)
    with Archive.open(run / "archive.db") as archive:
        judge_triggers(archive, [load_classifier(world.judge, spec=data.spec)], data)


def write_linear(path: Path, part: str, seen: np.ndarray) -> Path:
    """A softmax of ridge regression on some of the pixels."""
    data = load_dataset(part)
    pixels = data.floats().reshape(len(data), 64) * seen
    inputs = np.concatenate([pixels, np.ones((len(data), 1))], axis=1)
    wanted = np.eye(10)[data.labels]
    matrix = np.linalg.solve(inputs.T @ inputs + 0.5 * np.eye(65), inputs.T @ wanted)
    return write_onnx(path, 8 * matrix[:64].astype(np.float32), 8 * matrix[64].astype(np.float32))


def write_onnx(path: Path, weights: np.ndarray, bias: np.ndarray) -> Path:
    """A dense layer over 8x8 grey images."""
    nodes = [
        helper.make_node("Flatten", ["image"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w", "b"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"]),
    ]
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", len(bias)])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


class Mixer(nn.Module):
    """Between two of the digits, a little shifted in brightness."""

    digits: Tensor

    def __init__(self, digits: Tensor) -> None:
        super().__init__()
        self.register_buffer("digits", digits)

    def forward(self, latents: Tensor) -> Tensor:
        """N x 1 x 8 x 8 for latents in [-1, 1]."""
        count = self.digits.shape[0]
        places = ((latents + 1) / 2 * count).long().clamp(0, count - 1)
        share = (latents[:, 2] + 1).reshape(-1, 1, 1, 1) / 4
        return self.digits[places[:, 0]] * (1 - share) + self.digits[places[:, 1]] * share


def write_generator(path: Path) -> Path:
    """TorchScript, with its sidecar."""
    digits = torch.from_numpy(load_dataset(DATA).floats())
    torch.jit.trace(Mixer(digits), torch.zeros(2, 3)).save(str(path))  # type: ignore[no-untyped-call]
    path.with_name(path.name + ".yaml").write_text(
        "latent: 3\nprior: {name: uniform, low: -1, high: 1}\nimage: [1, 8, 8]\nrange: [0, 1]\n"
    )
    return path
