"""Tensors on the wire: nothing is lost on the way there, and nothing that comes back can surprise."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from diffgan.models.http.tensors import DATATYPES, JSON_LENGTH, Message, Tensor, WireError, read_answer, write_request

IMAGES = arrays(np.float32, (2, 1, 2, 3), elements=st.floats(width=32, allow_nan=False, allow_infinity=False))


@given(IMAGES)
def test_every_float_survives_json(images: NDArray[np.float32]) -> None:
    message = write_request(images, Tensor("x", "FP32", None), ["p"], binary=False)
    sent = json.loads(message.body)["inputs"][0]
    assert np.array_equal(np.array(sent["data"], dtype=np.float32).reshape(sent["shape"]), images)


@given(IMAGES)
def test_every_float_survives_binary(images: NDArray[np.float32]) -> None:
    message = write_request(images, Tensor("x", "FP32", None), ["p"], binary=True)
    length = int(message.headers[JSON_LENGTH])
    sent = json.loads(message.body[:length])["inputs"][0]
    assert sent["parameters"]["binary_data_size"] == images.nbytes == len(message.body) - length
    assert np.array_equal(np.frombuffer(message.body[length:], dtype="<f4").reshape(sent["shape"]), images)


def test_kserve_s_own_codec_reads_what_is_written() -> None:
    infer_type = pytest.importorskip("kserve.protocol.infer_type", reason="kserve is not installed")
    images = np.random.default_rng(0).random((3, 1, 2, 2), dtype=np.float32)
    message = write_request(images, Tensor("x", "FP32", None), ["p"], binary=True)
    request = infer_type.InferRequest.from_bytes(message.body, int(message.headers[JSON_LENGTH]), "m")
    assert np.array_equal(request.inputs[0].as_numpy(), images)
    assert request.request_outputs[0].binary_data is True


@pytest.mark.parametrize("datatype", DATATYPES)
def test_every_datatype_is_read_from_bytes_behind_outputs_that_nobody_asked_for(datatype: str) -> None:
    values = np.array([[0, 1], [1, 0]]).astype(DATATYPES[datatype])
    outputs = [
        {"name": "text", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 5}},
        {"name": "p", "datatype": datatype, "shape": [2, 2], "parameters": {"binary_data_size": values.nbytes}},
    ]
    head = json.dumps({"outputs": outputs}).encode()
    answer = Message({JSON_LENGTH: str(len(head))}, head + b"hello" + values.tobytes())
    (read,) = read_answer(answer, ["p"], 2)
    assert np.array_equal(read, values)


def test_nested_and_flat_data_are_the_same() -> None:
    for data in ([0.25, 0.75, 1.0, 0.0], [[0.25, 0.75], [1.0, 0.0]]):
        answer = Message({}, json.dumps({"outputs": [{"name": "p", "shape": [2, 2], "data": data}]}).encode())
        assert read_answer(answer, [None], 2)[0].tolist() == [[0.25, 0.75], [1.0, 0.0]]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
OUTPUT = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("p") | ANYTHING,
        "datatype": st.sampled_from([*DATATYPES, "BYTES"]) | ANYTHING,
        "shape": st.just([2, 2]) | st.lists(st.integers(-1, 4), max_size=3) | ANYTHING,
        "data": st.lists(st.floats() | ANYTHING, max_size=4) | ANYTHING,
        "parameters": st.fixed_dictionaries({"binary_data_size": st.integers(-1, 20) | ANYTHING}) | ANYTHING,
    },
)


@given(st.lists(OUTPUT | ANYTHING, max_size=3) | ANYTHING, st.binary(max_size=20), st.booleans())
def test_any_answer_gives_numbers_of_the_right_length_or_a_wire_error(outputs: Any, tail: bytes, known: bool) -> None:
    head = json.dumps({"outputs": outputs}).encode()
    headers = {JSON_LENGTH: str(len(head))} if known else {}
    try:
        (read,) = read_answer(Message(headers, head + tail), ["p"], 2)
    except WireError:
        return
    assert len(read) == 2
    assert read.dtype.kind in "fiub"


@given(st.binary(max_size=50), st.text(max_size=5))
def test_any_bytes_give_a_wire_error(body: bytes, length: str) -> None:
    with pytest.raises(WireError):
        read_answer(Message({JSON_LENGTH: length}, body), ["p"], 2)
