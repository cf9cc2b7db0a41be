"""What the wrapper around a model costs: images per second through `Classifier` and through the bare runtime.

Both answer the same batches in turn, so that a busy machine slows both. Run it with nothing else running:

    python docs/benchmarks/models.py MODEL [MODEL...] --data DATA [--batch 512] [--seconds 5]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from diffgan.datasets import load_dataset
from diffgan.images import FloatImages
from diffgan.models import load_classifier
from diffgan.system import available_cores

Answer = Callable[[FloatImages], Any]


def bare_onnx(path: str, *, spinning: bool) -> Answer:
    """ONNX Runtime as its own tutorial has it, on the cores that there are."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = available_cores()
    if not spinning:
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda images: session.run(None, {name: images})[0]


def bare_torchscript(path: str) -> Answer:
    """torch.jit under inference mode."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.jit.load(path).eval()

    def answer(images: FloatImages) -> Any:
        with torch.inference_mode():
            return module(torch.from_numpy(images)).numpy()

    return answer


def bare_tflite(path: str, batch: int) -> Answer:
    """LiteRT's interpreter, its input resized to the batch."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=path, num_threads=available_cores())
    entry = interpreter.get_input_details()[0]
    interpreter.resize_tensor_input(entry["index"], [batch, *entry["shape"][1:]])
    interpreter.allocate_tensors()
    output = interpreter.get_output_details()[0]["index"]

    def answer(images: FloatImages) -> Any:
        for start in range(0, len(images), batch):
            interpreter.set_tensor(entry["index"], images[start : start + batch].transpose(0, 2, 3, 1))
            interpreter.invoke()
            interpreter.get_tensor(output)

    return answer


def contenders(path: str) -> dict[str, Answer]:
    """The bare runtimes that a file's wrapper is compared with."""
    if path.endswith(".onnx"):
        return {"bare": bare_onnx(path, spinning=True), "bare, no spinning": bare_onnx(path, spinning=False)}
    if path.endswith(".tflite"):
        return {"bare, one by one": bare_tflite(path, 1), "bare, batches of 64": bare_tflite(path, 64)}
    return {"bare": bare_torchscript(path)}


def rates(answers: dict[str, Answer], batches: list[FloatImages], seconds: float) -> dict[str, list[float]]:
    """Images per second of each contender, round by round, the order turned each time."""
    found: dict[str, list[float]] = {name: [] for name in answers}
    for answer in answers.values():
        answer(batches[0])
    names, end = list(answers), perf_counter() + seconds * len(answers)
    while perf_counter() < end:
        for name in names:
            start = perf_counter()
            for batch in batches:
                answers[name](batch)
            found[name].append(sum(map(len, batches)) / (perf_counter() - start))
        names = names[1:] + names[:1]
    return found


def main() -> None:
    """Prints a line for each model and contender; the ratio is of the wrapper's rate to it, median of rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", required=True)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=5, help="for each contender")
    arguments = parser.parse_args()
    images = load_dataset(arguments.data).floats()[: 8 * arguments.batch]
    batches = [
        np.ascontiguousarray(part) for part in np.split(images, range(arguments.batch, len(images), arguments.batch))
    ]
    print(f"batch {arguments.batch}, {available_cores()} cores")
    print(f"{'model':28} {'contender':20} {'images/s':>10} {'ratio':>7}")
    for path in arguments.models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier = load_classifier(path)
        ours = {"diffgan": classifier.predict}
        if path.endswith(".tflite"):
            ours["diffgan, batch=64"] = load_classifier(path, options={"batch": 64}).predict
        found = rates({**ours, **contenders(path)}, batches, arguments.seconds)
        for name, values in found.items():
            ratio = median(own / other for own, other in zip(found["diffgan"], values, strict=True))
            print(f"{classifier.name:28} {name:20} {median(values):10,.0f} {ratio:7.3f}", flush=True)


if __name__ == "__main__":
    main()
