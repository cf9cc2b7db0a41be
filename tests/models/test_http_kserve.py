"""The runtime for endpoints against KServe's own server, with JSON and with binary tensors."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from diffgan.errors import ModelError
from diffgan.images import ImageSpec
from diffgan.models import load_classifier
from diffgan.models.http import HttpAdapter
from diffgan.models.http.round import RealClock
from diffgan.models.options import ModelOptions
from diffgan.testing import ClassifierConformance

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("kserve") is None, reason="kserve is not installed: pip install 'diffgan[test]'"
)

SECONDS_TO_START = 60


@pytest.fixture(scope="module", params=["json", "binary"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The root of a KServe server; with `binary`, one that announces what it speaks."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    flags = ["--binary"] if request.param == "binary" else []
    script = Path(__file__).parent / "serve_kserve.py"
    log = tmp_path_factory.mktemp("kserve") / "log.txt"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, str(script), str(port), *flags], stdout=file, stderr=file, env=environment
        )
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}/v2/health/ready", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + SECONDS_TO_START
    with httpx.Client(trust_env=False) as client:
        while time.monotonic() < ends and process.poll() is None:
            try:
                if client.get(url).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
    pytest.fail(f"the KServe server did not start: {log.read_text()[-2000:]}")


class Impatient(RealClock):
    """Does not wait between attempts."""

    def sleep(self, seconds: float, stop: threading.Event) -> None:
        """Returns at once."""


def _images(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(0).random((count, 1, 4, 4), dtype=np.float32)


def test_answers_equal_the_model_s_own_to_the_bit(server: str) -> None:
    images = _images(150)
    runtime = HttpAdapter().load(f"{server}/v2/models/brightness", ModelOptions(batch=32, features_name="row"))
    try:
        answers, features = runtime.run(images, features=True)
        alone, nothing = runtime.run(images[:1])
    finally:
        runtime.close()
    mean = images.reshape(150, -1).mean(axis=1)
    assert np.array_equal(answers.astype(np.float32), np.stack([mean, 1 - mean], axis=1))
    assert features is not None
    assert np.array_equal(features.astype(np.float32), images[:, 0, 0])
    assert alone.shape == (1, 2)
    assert nothing is None
    assert runtime.input_shape == (None, 1, 4, 4)
    assert runtime.layout == "NCHW"


def test_a_second_output_can_be_the_answer(server: str) -> None:
    runtime = HttpAdapter().load(f"{server}/v2/models/brightness/infer", ModelOptions(output_name="row"))
    try:
        answers, _ = runtime.run(_images(2))
    finally:
        runtime.close()
    assert np.array_equal(answers.astype(np.float32), _images(2)[:, 0, 0])


def test_a_classifier_is_loaded_from_its_address(server: str) -> None:
    classifier = load_classifier(f"{server}/v2/models/brightness", spec=ImageSpec(1, 4, 4))
    try:
        probabilities = classifier.predict(_images(100))
    finally:
        classifier.close()
    assert probabilities.shape == (100, 2)
    assert probabilities.dtype == np.float32


def test_an_unknown_model_is_said_in_the_server_s_words(server: str) -> None:
    with pytest.raises(ModelError, match=r"models/nope refused, with status 404; check .*nope does not exist"):
        HttpAdapter().load(f"{server}/v2/models/nope", ModelOptions())


def test_a_version_that_kserve_does_not_know_is_refused_at_once(server: str) -> None:
    with pytest.raises(ModelError, match=r"status 501.*versioning not supported"):
        HttpAdapter().load(f"{server}/v2/models/brightness/versions/2", ModelOptions())


def test_images_that_the_model_cannot_take_fail_with_its_own_message(server: str) -> None:
    runtime = HttpAdapter(Impatient()).load(f"{server}/v2/models/brightness", ModelOptions())
    try:
        with pytest.raises(ModelError, match=r"status 500.*IndexError"):
            runtime.run(np.zeros((2, 3), dtype=np.float32), timeout=20)
    finally:
        runtime.close()


class TestEndpointConformance(ClassifierConformance):
    @pytest.fixture
    def source(self, server: str) -> str:
        return f"{server}/v2/models/brightness"

    @pytest.fixture
    def spec(self) -> ImageSpec:
        return ImageSpec(1, 4, 4)
