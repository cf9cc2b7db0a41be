"""A tiny model behind KServe's own server, on the loopback: `serve_kserve.py PORT`, run by test_http_kserve.py."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer
from kserve.protocol.dataplane import DataPlane
from kserve.protocol.rest import server as rest


class Brightness(Model):  # type: ignore[misc]
    """Answers the mean of each image and one minus it, and the image's first row as features."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.ready = True

    def get_input_types(self) -> list[dict[str, Any]]:
        return [{"name": "images", "datatype": "FP32", "shape": [-1, 1, 4, 4]}]

    def get_output_types(self) -> list[dict[str, Any]]:
        return [
            {"name": "probabilities", "datatype": "FP32", "shape": [-1, 2]},
            {"name": "row", "datatype": "FP32", "shape": [-1, 4]},
        ]

    def predict(self, payload: InferRequest, headers: dict[str, str] | None = None) -> InferResponse:
        images = payload.inputs[0].as_numpy()
        mean = images.reshape(len(images), -1).mean(axis=1)
        answers = {"probabilities": np.stack([mean, 1 - mean], axis=1), "row": images[:, 0, 0]}
        outputs = []
        for name, values in answers.items():
            output = InferOutput(name, list(values.shape), "FP32")
            output.set_data_from_numpy(values.astype(np.float32), binary_data=payload.use_binary_outputs)
            outputs.append(output)
        return InferResponse(
            payload.id or "1",
            self.name,
            outputs,
            use_binary_outputs=payload.use_binary_outputs,
            requested_outputs=payload.request_outputs,
        )


class OnLoopback(rest.uvicorn.Config):  # type: ignore[misc]
    """KServe binds all interfaces; a test must not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "host": "127.0.0.1"})


class Announcing(DataPlane):  # type: ignore[misc]
    """KServe speaks the binary extension, but does not announce it."""

    def metadata(self) -> dict[str, Any]:
        known = super().metadata()
        return {**known, "extensions": [*known["extensions"], "binary_tensor_data"]}


if __name__ == "__main__":
    rest.uvicorn.Config = OnLoopback
    server = ModelServer(http_port=int(sys.argv[1]), enable_grpc=False, workers=1)
    if "--binary" in sys.argv:
        server.dataplane.__class__ = Announcing
    server.start([Brightness("brightness")])
