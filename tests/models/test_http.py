"""The runtime for endpoints, against a small server of our own that misbehaves in every way that we promise to bear."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.errors import ModelError, RetryLaterError
from diffgan.models.http import HttpAdapter, HttpRuntime, adapter
from diffgan.models.options import ModelOptions

TOKEN = "s3cret-T0ken.of/the+test="

Floats = NDArray[np.float32]


class FakeClock:
    """Sleeps take no time, but move the clock on."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float, stop: threading.Event) -> None:
        self.time += seconds
        self.slept.append(seconds)


class Handler(BaseHTTPRequestHandler):
    """One connection of the fake endpoint."""

    protocol_version = "HTTP/1.1"
    # Without, the kernel holds back the body until the headers are acknowledged: 40 ms for every answer.
    disable_nagle_algorithm = True
    server: FakeServer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        self.server.endpoint.record(self)
        self.server.endpoint.on_get(self)

    def do_POST(self) -> None:
        endpoint = self.server.endpoint
        body = self.rfile.read(int(self.headers["content-length"]))
        with endpoint.lock:
            endpoint.record(self)
            number = len(endpoint.bodies)
            endpoint.bodies.append(body)
            endpoint.in_flight += 1
            endpoint.most_in_flight = max(endpoint.most_in_flight, endpoint.in_flight)
        try:
            endpoint.scripted.get(number, endpoint.otherwise)(self, body)
        finally:
            with endpoint.lock:
                endpoint.in_flight -= 1

    def reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def reply_json(self, document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.reply(status, json.dumps(document).encode(), {"content-type": "application/json", **(headers or {})})

    def hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


Act = Callable[[Handler, bytes], None]


class FakeServer(ThreadingHTTPServer):
    daemon_threads = True
    connections = 0
    endpoint: FakeEndpoint

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what these tests are about."""


class FakeEndpoint:
    """A model that answers the mean of each image and one minus it, unless its script says otherwise."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.released = threading.Event()
        self.cut_off = threading.Event()
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.in_flight = self.most_in_flight = 0
        self.scripted: dict[int, Act] = {}
        self.otherwise: Act = answer_json
        self.extensions: list[str] = []
        self.metadata: Any = {
            "name": "m",
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 1, 2, 2]}],
            "outputs": [{"name": "p", "datatype": "FP32", "shape": [-1, 2]}],
        }
        self.on_get: Callable[[Handler], None] = self._get
        self.server = FakeServer(("127.0.0.1", 0), Handler)
        self.server.endpoint = self
        self.host = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.host}/v2/models/m"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def record(self, handler: Handler) -> None:
        self.paths.append(handler.path)
        self.headers.append({name.lower(): value for name, value in handler.headers.items()})

    def _get(self, handler: Handler) -> None:
        is_model = "/models/" in handler.path
        handler.reply_json(self.metadata if is_model else {"name": "fake", "extensions": self.extensions})

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(timeout=5)


def read_request(handler: Handler, body: bytes) -> tuple[dict[str, Any], NDArray[Any]]:
    length = handler.headers.get("inference-header-content-length")
    document = json.loads(body if length is None else body[: int(length)])
    given = document["inputs"][0]
    dtype = {"FP32": "<f4", "FP64": "<f8", "UINT8": "u1"}[given["datatype"]]
    values = np.array(given["data"], dtype) if length is None else np.frombuffer(body[int(length) :], dtype)
    return document, values.reshape(given["shape"])


def model(images: NDArray[Any]) -> NDArray[np.float32]:
    mean = images.reshape(len(images), -1).mean(axis=1)
    return np.stack([mean, 1 - mean], axis=1).astype(np.float32)


def output(values: NDArray[Any], **changes: object) -> dict[str, Any]:
    return {"name": "p", "datatype": "FP32", "shape": list(values.shape), "data": values.ravel().tolist()} | changes


def answer_json(handler: Handler, body: bytes) -> None:
    handler.reply_json({"model_name": "m", "outputs": [output(model(read_request(handler, body)[1]))]})


def answer_binary(handler: Handler, body: bytes) -> None:
    values = model(read_request(handler, body)[1])
    described = {"name": "p", "datatype": "FP32", "shape": list(values.shape)}
    head = json.dumps({"outputs": [described | {"parameters": {"binary_data_size": values.nbytes}}]}).encode()
    handler.reply(200, head + values.tobytes(), {"Inference-Header-Content-Length": str(len(head))})


def answers(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Act:
    return lambda handler, _: handler.reply_json(document, status, headers)


def sends(body: bytes, headers: Mapping[str, str] | None = None) -> Act:
    return lambda handler, _: handler.reply(200, body, headers)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def endpoint(stack: ExitStack) -> FakeEndpoint:
    fake = FakeEndpoint()
    stack.callback(fake.close)
    return fake


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def load(stack: ExitStack, clock: FakeClock) -> Callable[..., HttpRuntime]:
    """Opens an address with a clock that does not wait; `real=True`: with the real one."""

    def open_runtime(url: str, *, real: bool = False, **options: Any) -> HttpRuntime:
        runtime = (adapter if real else HttpAdapter(clock)).load(url, ModelOptions(**options))
        stack.callback(runtime.close)
        return runtime

    return open_runtime


Load = Callable[..., HttpRuntime]


def images(count: int) -> Floats:
    return np.random.default_rng(1).random((count, 1, 2, 2), dtype=np.float32)


# What goes over the wire


def test_the_adapter_accepts_web_addresses_only() -> None:
    assert adapter.accepts("HTTPS://example.org/v2/models/m")
    assert not adapter.accepts("model.onnx")
    assert not adapter.accepts("py:http:model")


@pytest.mark.parametrize("extension", [[], ["binary_tensor_data"]])
def test_images_are_split_into_requests_and_answered_in_order(
    endpoint: FakeEndpoint, load: Load, extension: list[str]
) -> None:
    endpoint.extensions = extension
    endpoint.otherwise = answer_binary if extension else answer_json
    probabilities, features = load(endpoint.url, batch=7).run(images(20))
    assert np.array_equal(probabilities.astype(np.float32), model(images(20)))
    assert features is None
    sent = endpoint.headers[-1]["content-type"]
    assert sent == ("application/octet-stream" if extension else "application/json")
    assert len(endpoint.bodies) == 3


def test_a_server_that_announces_binary_may_answer_json(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.extensions = ["binary_tensor_data"]
    probabilities, _ = load(endpoint.url).run(images(3))
    assert np.array_equal(probabilities.astype(np.float32), model(images(3)))


def test_binary_answers_are_read_even_where_they_were_not_announced(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.otherwise = answer_binary
    assert np.array_equal(load(endpoint.url).run(images(3))[0], model(images(3)))


def test_json_is_sent_where_the_server_metadata_are_hidden(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.on_get = lambda handler: (
        handler.reply_json(endpoint.metadata) if "/models/" in handler.path else handler.reply(403, b"no")
    )
    assert len(load(endpoint.url).run(images(3))[0]) == 3


def test_64_images_go_into_a_request_by_default(endpoint: FakeEndpoint, load: Load) -> None:
    load(endpoint.url).run(images(65))
    sizes = sorted(json.loads(body)["inputs"][0]["shape"][0] for body in endpoint.bodies)
    assert sizes == [1, 64]


def test_a_fixed_batch_is_padded_and_the_padding_s_answers_dropped(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.metadata["inputs"][0]["shape"] = [4, 1, 2, 2]
    runtime = load(endpoint.url)
    probabilities, _ = runtime.run(images(6))
    assert np.array_equal(probabilities.astype(np.float32), model(images(6)))
    assert [json.loads(body)["inputs"][0]["shape"][0] for body in endpoint.bodies] == [4, 4]
    assert runtime.input_shape == (4, 1, 2, 2)
    assert runtime.batch is None
    with pytest.raises(ModelError, match="takes exactly 4 images at a time, not 2"):
        load(endpoint.url, batch=2)


def test_uint8_inputs_are_rounded_and_clipped(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.metadata["inputs"][0]["datatype"] = "UINT8"
    runtime = load(endpoint.url, range=[0, 255])
    runtime.run(np.array([-3, 0.6, 254.4, 300], dtype=np.float32).reshape(1, 1, 2, 2))
    assert json.loads(endpoint.bodies[0])["inputs"][0]["data"] == [0, 1, 254, 255]
    with pytest.raises(ModelError, match=r"UINT8.*say range=\[0, 255\]"):
        load(endpoint.url)


def test_fp64_inputs_are_sent_as_such(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.metadata["inputs"][0]["datatype"] = "FP64"
    endpoint.extensions = ["binary_tensor_data"]
    assert np.array_equal(load(endpoint.url).run(images(2))[0].astype(np.float32), model(images(2).astype(np.float64)))


def test_inputs_and_outputs_are_found_by_name(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.metadata["outputs"].append({"name": "f", "datatype": "FP32", "shape": [-1, 3]})
    endpoint.otherwise = answers({"outputs": [output(np.ones((2, 3)), name="f"), output(np.zeros((2, 2)))]})
    probabilities, features = load(endpoint.url, features_name="f", input_name="x").run(images(2), features=True)
    assert np.array_equal(probabilities, np.zeros((2, 2)))
    assert features is not None
    assert np.array_equal(features, np.ones((2, 3)))
    assert [wanted["name"] for wanted in json.loads(endpoint.bodies[0])["outputs"]] == ["p", "f"]
    with pytest.raises(ModelError, match=r"nothing called 'q', which output_name asks for; it has: \['p', 'f'\]"):
        load(endpoint.url, output_name="q")
    with pytest.raises(ModelError, match=r"nothing called 'y', which input_name asks for; it has: \['x'\]"):
        load(endpoint.url, input_name="y")


def test_a_model_without_declared_tensors_needs_the_name_of_its_input(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.metadata = {"name": "m", "inputs": [], "outputs": []}
    with pytest.raises(ModelError, match="does not declare its inputs"):
        load(endpoint.url)
    runtime = load(endpoint.url, input_name="images")
    assert runtime.input_shape is None
    assert np.array_equal(runtime.run(images(2))[0].astype(np.float32), model(images(2)))


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ([1, 2], "JSON that is no object"),
        ({"inputs": 5}, "inputs are no list"),
        ({"inputs": [{"name": "x"}]}, "one of the inputs has no name, datatype and shape"),
        (
            {"inputs": [{"name": "x", "datatype": "BYTES", "shape": [-1]}]},
            "expected an input of FP16, FP32, FP64, UINT8",
        ),
    ],
)
def test_unfit_metadata_are_told(endpoint: FakeEndpoint, load: Load, metadata: object, told: str) -> None:
    endpoint.metadata = metadata
    with pytest.raises(ModelError, match=told):
        load(endpoint.url)


def test_no_images_need_no_request(endpoint: FakeEndpoint, load: Load) -> None:
    assert len(load(endpoint.url).run(images(0))[0]) == 0
    assert endpoint.bodies == []


# Connections and order


def test_one_connection_is_kept_alive(endpoint: FakeEndpoint, load: Load) -> None:
    runtime = load(endpoint.url, batch=1, requests=1)
    runtime.run(images(5))
    runtime.run(images(5))
    assert len(endpoint.bodies) == 10
    assert endpoint.server.connections == 1


def test_as_many_requests_as_the_option_says_are_in_flight_and_no_more(endpoint: FakeEndpoint, load: Load) -> None:
    together = threading.Barrier(3, timeout=10)

    def wait_for_two_others(handler: Handler, body: bytes) -> None:
        together.wait()
        with endpoint.lock:
            # Over for the client as soon as it has the answer, which is before the handler returns.
            endpoint.in_flight -= 1
        answer_json(handler, body)
        with endpoint.lock:
            endpoint.in_flight += 1

    endpoint.otherwise = wait_for_two_others
    load(endpoint.url, batch=1, requests=3).run(images(12))
    assert endpoint.most_in_flight == 3
    assert endpoint.server.connections == 3


def test_answers_keep_their_order_when_the_first_comes_last(endpoint: FakeEndpoint, load: Load) -> None:
    second_answered = threading.Event()
    first = images(2)[:1]

    def first_waits(handler: Handler, body: bytes) -> None:
        if np.array_equal(read_request(handler, body)[1], first):
            second_answered.wait(timeout=10)
        answer_json(handler, body)
        second_answered.set()

    endpoint.otherwise = first_waits
    probabilities, _ = load(endpoint.url, batch=1, requests=2).run(images(2))
    assert np.array_equal(probabilities.astype(np.float32), model(images(2)))


# Faults that pass


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_trouble_that_passes_is_retried_with_growing_pauses(
    endpoint: FakeEndpoint, load: Load, clock: FakeClock, status: int
) -> None:
    endpoint.scripted = dict.fromkeys(range(3), answers({"error": "busy"}, status))
    probabilities, _ = load(endpoint.url).run(images(2))
    assert np.array_equal(probabilities.astype(np.float32), model(images(2)))
    assert len(clock.slept) == 3
    for pause, longest in zip(clock.slept, (0.1, 0.2, 0.4), strict=True):
        assert longest / 2 <= pause <= longest


def test_pauses_are_the_same_in_every_run(endpoint: FakeEndpoint, load: Load, clock: FakeClock) -> None:
    runtime = load(endpoint.url)
    for _ in range(2):
        start = len(endpoint.bodies)
        endpoint.scripted = dict.fromkeys(range(start, start + 3), answers({}, 503))
        runtime.run(images(1))
    assert clock.slept[:3] == clock.slept[3:]


def test_retry_after_is_honoured(endpoint: FakeEndpoint, load: Load, clock: FakeClock) -> None:
    endpoint.scripted[0] = answers({"error": "slow down"}, 429, {"Retry-After": "7"})
    load(endpoint.url).run(images(1))
    assert clock.slept == [7.0]


@pytest.mark.parametrize("value", ["Wed, 21 Oct 2015 07:28:00 GMT", "soon", "-5", "nan", "1e9", ""])
def test_a_retry_after_that_is_past_or_no_time_changes_nothing(
    endpoint: FakeEndpoint, load: Load, clock: FakeClock, value: str
) -> None:
    endpoint.scripted[0] = answers({}, 503, {"Retry-After": value})
    load(endpoint.url).run(images(1))
    assert len(clock.slept) == 1
    assert clock.slept[0] <= 0.1


def test_retry_after_may_be_a_date(endpoint: FakeEndpoint, load: Load, clock: FakeClock) -> None:
    endpoint.scripted[0] = answers({}, 503, {"Retry-After": formatdate(time.time() + 20, usegmt=True)})
    load(endpoint.url).run(images(1))
    assert 18 <= clock.slept[0] <= 21


def test_retry_after_beyond_the_deadline_fails_at_once(endpoint: FakeEndpoint, load: Load, clock: FakeClock) -> None:
    endpoint.otherwise = answers({"error": "slow down"}, 429, {"Retry-After": "3600"})
    with pytest.raises(RetryLaterError, match="asks to wait 3600 s, but only 60 s are left") as caught:
        load(endpoint.url).run(images(1))
    assert caught.value.wait == 3600
    assert clock.slept == []


def test_a_connection_closed_mid_body_is_retried(endpoint: FakeEndpoint, load: Load) -> None:
    def half(handler: Handler, _: bytes) -> None:
        handler.reply(200, b'{"outputs": [', {"content-length": "1000"})
        handler.hang_up()

    endpoint.scripted = {0: half, 1: lambda handler, _: handler.hang_up()}
    assert len(load(endpoint.url).run(images(2))[0]) == 2


def test_trouble_that_stays_ends_at_the_deadline_with_the_server_s_words(
    endpoint: FakeEndpoint, load: Load, clock: FakeClock
) -> None:
    endpoint.otherwise = answers({"error": "out of\nmemory\x1b[31m"}, 503)
    with pytest.raises(ModelError, match=r"within 30 s .*status 503: out of memory\[31m") as failed:
        load(endpoint.url, deadline=30).run(images(1))
    assert "\n" not in str(failed.value)
    assert 29 < clock.time <= 30.1
    assert len(endpoint.bodies) > 5


def test_a_model_that_fails_each_time_with_500_is_given_up_before_the_deadline(
    endpoint: FakeEndpoint, load: Load, clock: FakeClock
) -> None:
    endpoint.otherwise = answers({"error": "ValueError: cannot reshape"}, 500)
    with pytest.raises(ModelError, match="status 500: ValueError: cannot reshape"):
        load(endpoint.url).run(images(1))
    assert clock.time < 5


# Faults that stay


def test_an_endpoint_that_is_down_is_told_quickly(load: Load) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    start = time.monotonic()
    with pytest.raises(ModelError, match=f"127.0.0.1:{port}/v2/models/m cannot be reached; see that the server is up"):
        load(f"http://127.0.0.1:{port}/v2/models/m", real=True)
    assert time.monotonic() - start < 3


def test_a_refusal_is_not_retried_and_starts_nothing_more(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.otherwise = answers({"error": "images must be 32x32 " + "x" * 500}, 400)
    with pytest.raises(ModelError, match="refused, with status 400: images must be 32x32") as failed:
        load(endpoint.url, batch=1, requests=1).run(images(10))
    assert len(str(failed.value)) < 350
    assert len(endpoint.bodies) == 1


def test_the_first_failure_ends_requests_that_wait(endpoint: FakeEndpoint, load: Load) -> None:
    waiting = threading.Event()

    def wait_or_refuse(handler: Handler, _: bytes) -> None:
        if handler.server.endpoint.in_flight == 1:
            waiting.set()
            endpoint.released.wait(timeout=20)
        else:
            waiting.wait(timeout=10)
            handler.reply_json({"error": "no"}, 400)

    endpoint.otherwise = wait_or_refuse
    runtime = load(endpoint.url, batch=1, requests=2, real=True)
    start = time.monotonic()
    with pytest.raises(ModelError, match="status 400: no"):
        runtime.run(images(2))
    assert time.monotonic() - start < 5


VALUES = np.full((2, 2), 0.5)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (sends(b"<html>hello</html>"), "what is no JSON: <html>hello</html>"),
        (sends(b"[" * 100_000), "what is no JSON"),
        (sends(b"\xff\xfe\x00"), "what is no JSON"),
        (sends(b""), "what is no JSON"),
        (answers([]), "JSON that is no object"),
        (answers({"outputs": []}), "without a list of outputs"),
        (answers({"outputs": [output(VALUES, name="q")]}), r"without the output 'p'; it gave: \['q'\]"),
        (answers({"outputs": [output(VALUES, shape=[2, 3])]}), r"4 values, but calls their shape: \[2, 3\]"),
        (
            answers({"outputs": [output(VALUES, shape=[4])]}),
            r"should answer 2 images with shape \[2, …\], but gave: \[4\]",
        ),
        (answers({"outputs": [output(VALUES, shape=[2, -2])]}), "no list of whole numbers"),
        (answers({"outputs": [output(VALUES, shape="2x2")]}), "no list of whole numbers"),
        (answers({"outputs": [output(VALUES, data=["cat"] * 4)]}), "data that are no numbers"),
        (answers({"outputs": [output(VALUES, data=[[1], [2, 3]])]}), "data that are no numbers"),
        (answers({"outputs": [output(VALUES, data=None)]}), "data that are no numbers: None"),
        (answers({"outputs": [output(VALUES, parameters={"binary_data_size": 99})]}), "sent 0 bytes"),
        (sends(b"{}", {"Inference-Header-Content-Length": "77"}), "says that of them so many are JSON: 77"),
        (sends(b"{}", {"Content-Encoding": "gzip"}), "compression that was not asked for"),
        (sends(b" " * 2_000_000), "more than 1056768 bytes"),
    ],
)
def test_garbage_is_told_with_the_endpoint_and_what_came(
    endpoint: FakeEndpoint, load: Load, act: Act, told: str
) -> None:
    endpoint.otherwise = act
    with pytest.raises(ModelError, match=told) as failed:
        load(endpoint.url).run(images(2))
    assert str(failed.value).startswith(endpoint.url)
    assert len(endpoint.bodies) == 1


def test_requests_of_one_call_must_agree_on_the_number_of_classes(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.scripted[0] = answers({"outputs": [output(np.zeros((1, 3)))]})
    with pytest.raises(ModelError, match=r"different shapes: \[\(2,\), \(3,\)\]"):
        load(endpoint.url, batch=1, requests=1).run(images(2))


# The deadline


def silent(handler: Handler, _: bytes) -> None:
    handler.server.endpoint.released.wait(timeout=20)


def drip(start: bytes) -> Act:
    """Sends a byte now and then, for ever: no single read takes long."""

    def act(handler: Handler, _: bytes) -> None:
        handler.close_connection = True
        handler.wfile.write(start)
        endpoint = handler.server.endpoint
        try:
            while not endpoint.released.wait(timeout=0.02):
                handler.wfile.write(b"x")
        except OSError:
            endpoint.cut_off.set()

    return act


@pytest.mark.parametrize(
    "act",
    [silent, drip(b"HTTP/1.1 200 OK\r\nx-header: "), drip(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")],
    ids=["silent", "dripping headers", "dripping body"],
)
@pytest.mark.parametrize("given", [{"deadline": 0.3}, {"timeout": 0.3}])
def test_no_server_outlasts_the_deadline(endpoint: FakeEndpoint, load: Load, act: Act, given: dict[str, float]) -> None:
    endpoint.otherwise = act
    runtime = load(endpoint.url, batch=1, requests=2, real=True, deadline=given.get("deadline", 60))
    start = time.monotonic()
    with pytest.raises(ModelError, match=f"{endpoint.url} (gave no answer within 0.3 s|was silent)"):
        runtime.run(images(6), timeout=given.get("timeout"))
    assert 0.2 < time.monotonic() - start < 1.5
    assert act is silent or endpoint.cut_off.wait(timeout=5)


def test_a_runtime_works_again_after_a_missed_deadline(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.scripted[0] = silent
    runtime = load(endpoint.url, real=True)
    with pytest.raises(ModelError):
        runtime.run(images(1), timeout=0.1)
    assert len(runtime.run(images(3))[0]) == 3


@pytest.mark.parametrize("timeout", [0.0, -1.0])
def test_without_time_nothing_is_asked(endpoint: FakeEndpoint, load: Load, timeout: float) -> None:
    runtime = load(endpoint.url)
    with pytest.raises(ModelError, match="gave no answer within"):
        runtime.run(images(1), timeout=timeout)
    assert endpoint.bodies == []


def test_an_infinite_deadline_is_possible(endpoint: FakeEndpoint, load: Load) -> None:
    assert len(load(endpoint.url, deadline=float("inf"), real=True).run(images(1))[0]) == 1


def test_an_interrupt_ends_the_call_and_its_requests(
    endpoint: FakeEndpoint, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def tell_and_wait(handler: Handler, body: bytes) -> None:
        asked.set()
        silent(handler, body)

    def interrupted(*_: object, **__: object) -> None:
        asked.wait(timeout=10)
        raise KeyboardInterrupt

    endpoint.otherwise = tell_and_wait
    runtime = load(endpoint.url, batch=1, requests=1, real=True)
    monkeypatch.setattr("diffgan.models.http.endpoint.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runtime.run(images(5))
    runtime.close()
    for thread in list(runtime._endpoint._pool._threads):
        thread.join(timeout=5)
        assert not thread.is_alive()
    assert len(endpoint.bodies) == 1


# The token


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> str:
    monkeypatch.setenv("DIFFGAN_TOKEN", TOKEN)
    caplog.set_level(logging.DEBUG)
    return TOKEN


def everything_of(error: BaseException | None) -> str:
    """What an error, its causes and their fields say."""
    text = ""
    while error is not None:
        text += f"{error} {error!r} {vars(error)!r} "
        error = error.__cause__ or error.__context__
    return text


def test_the_token_goes_to_the_endpoint_and_into_no_log_or_repr(
    endpoint: FakeEndpoint, load: Load, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = load(endpoint.url)
    runtime.run(images(1))
    assert {headers["authorization"] for headers in endpoint.headers} == {f"Bearer {token}"}
    assert caplog.text
    assert token not in caplog.text
    assert token not in repr(runtime) + repr(vars(runtime)) + repr(vars(runtime._endpoint))


def test_another_variable_can_hold_the_token(
    endpoint: FakeEndpoint, load: Load, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "other")
    load(endpoint.url, token_env="OTHER_TOKEN")
    load(endpoint.url, token_env="UNSET_TOKEN")
    sent = [headers.get("authorization") for headers in endpoint.headers]
    assert sent == ["Bearer other", "Bearer other", None, None]
    assert f"Bearer {token}" not in sent


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_and_not_followed(
    endpoint: FakeEndpoint, load: Load, stack: ExitStack, token: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    target = FakeEndpoint()
    stack.callback(target.close)
    location = target.host.replace("//", "//user:password@") + f"/elsewhere?signature={token}"
    runtime = load(endpoint.url)
    endpoint.otherwise = answers({}, status, {"Location": location})
    with pytest.raises(ModelError, match=rf"redirects \(status {status}\).*: {target.host}/elsewhere\.") as failed:
        runtime.run(images(1))
    endpoint.on_get = lambda handler: handler.reply_json({}, status, {"Location": location})
    with pytest.raises(ModelError, match="redirects"):
        load(endpoint.url)
    assert target.paths == []
    assert token not in everything_of(failed.value) + caplog.text
    assert "password" not in str(failed.value)


def test_a_redirect_to_nowhere_that_repeats_the_token_is_told_without_it(
    endpoint: FakeEndpoint, load: Load, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.otherwise = answers({}, 302, {"Location": f"http://user:{token}@example.org:x/{token}"})
    with pytest.raises(ModelError, match=r"redirects .*: an address that cannot be read\.") as failed:
        load(endpoint.url).run(images(1))
    assert token[:8] not in everything_of(failed.value) + caplog.text


@pytest.mark.parametrize(
    "wrap",
    [
        lambda handler: handler.reply_json({"error": f"bad {handler.headers['authorization']}!"}, 401),
        lambda handler: handler.reply_json({"detail": [handler.headers["authorization"].lower()]}, 503),
        lambda handler: handler.reply(400, "\x00".join(handler.headers["authorization"]).encode()),
        lambda handler: handler.reply(403, b"x" * 180 + handler.headers["authorization"].encode()),
        lambda handler: handler.reply(200, b"y" * 180 + handler.headers["authorization"].encode()),
        lambda handler: handler.reply(401, b"bearer?", {"X-Echo": handler.headers["authorization"]}),
        lambda handler: handler.reply_json({"outputs": [{"name": handler.headers["authorization"]}]}),
    ],
)
def test_a_server_that_repeats_the_token_does_not_bring_it_into_a_message(
    endpoint: FakeEndpoint,
    load: Load,
    token: str,
    caplog: pytest.LogCaptureFixture,
    wrap: Callable[[Handler], None],
) -> None:
    endpoint.otherwise = lambda handler, _: wrap(handler)
    with pytest.raises(ModelError) as failed:
        load(endpoint.url).run(images(1))
    said = (everything_of(failed.value) + caplog.text).lower()
    assert token[:8].lower() not in said
    assert "bearer" in str(failed.value).lower()


def test_a_refused_token_is_told_with_its_variable(endpoint: FakeEndpoint, load: Load) -> None:
    endpoint.on_get = lambda handler: handler.reply_json({"error": "who are you?"}, 401)
    with pytest.raises(ModelError, match=r"set the token in the environment variable MY_TOKEN: who are you\?"):
        load(endpoint.url, token_env="MY_TOKEN")


@pytest.mark.parametrize("value", ["Bearer abcdef", "abc\r\nx-evil: def", "abcdéf"])
def test_a_token_that_no_header_can_hold_is_refused_unseen(
    load: Load, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("DIFFGAN_TOKEN", value)
    with pytest.raises(ModelError, match="DIFFGAN_TOKEN holds spaces or characters") as failed:
        load("http://127.0.0.1:9/v2/models/m")
    assert "abc" not in everything_of(failed.value)


def test_neither_netrc_nor_a_proxy_of_the_environment_take_part(
    endpoint: FakeEndpoint, load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password something\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    load(endpoint.url).run(images(1))
    assert not any("authorization" in headers for headers in endpoint.headers)
