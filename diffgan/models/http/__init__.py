"""Classifiers behind an endpoint that speaks the Open Inference Protocol (KServe v2) over REST."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError
from diffgan.models.http.address import parse_address
from diffgan.models.http.endpoint import Endpoint, Exchange
from diffgan.models.http.round import Clock, RealClock
from diffgan.models.http.secret import Secret
from diffgan.models.http.signature import Signature, announces_binary, choose, read_signature
from diffgan.models.http.tensors import Array, Message, read_answer, write_request
from diffgan.models.options import Layout, ModelOptions

#: Images per request where neither the endpoint nor the option `batch` says.
IMAGES_PER_REQUEST = 64

#: Opening a model is tried for so long and so often: a wrong address should show at once.
LOAD_SECONDS = 5.0
LOAD_ATTEMPTS = 4

#: Bytes that one number can take, in the most generous JSON, and that an answer can have beside its numbers.
BYTES_PER_NUMBER = 64
BYTES_AROUND = 1 << 20
LARGEST_UNDECLARED = 1 << 28


class HttpRuntime:
    """One model at an endpoint. Any number of images: it sends them in requests of the size that the model takes.

    Args:
        endpoint: the server, ready for requests.
        signature: what goes in and comes out.
        options: what the user says of the model.
        binary: tensors go as bytes, not as JSON.
    """

    def __init__(self, endpoint: Endpoint, signature: Signature, options: ModelOptions, *, binary: bool) -> None:
        self._endpoint = endpoint
        self._signature = signature
        self._binary = binary
        self._deadline = options.deadline
        self._layout: Layout = options.layout or "NCHW"
        self._fixed = signature.fixed_batch
        if self._fixed is not None and options.batch not in (None, self._fixed):
            raise endpoint.error(f"takes exactly {self._fixed} images at a time, not {options.batch}: leave batch out")
        self._per_request = self._fixed or options.batch or IMAGES_PER_REQUEST

    def __repr__(self) -> str:
        return f"HttpRuntime({self._endpoint.address.model!r})"

    @property
    def layout(self) -> Layout:
        """As the options say: the protocol has no word for it."""
        return self._layout

    @property
    def input_shape(self) -> tuple[int | None, ...] | None:
        """As the endpoint declares it."""
        return self._signature.input.shape

    @property
    def batch(self) -> None:
        """Any number: requests are split and padded here."""
        return None

    def run(
        self, inputs: NDArray[np.float32], *, features: bool = False, timeout: float | None = None
    ) -> tuple[Array, Array | None]:
        """Answers any number of images, within the option `deadline` or `timeout`, whichever is shorter.

        Raises:
            ModelError: the endpoint failed until the deadline, refused, or answered what is no answer.
        """
        outputs = [self._signature.output]
        if features and self._signature.features is not None:
            outputs.append(self._signature.features)
        if len(inputs) == 0:
            nothing = np.empty((0, 0), dtype=np.float32)
            return nothing, nothing if len(outputs) > 1 else None
        seconds = self._deadline if timeout is None else min(timeout, self._deadline)
        starts = range(0, len(inputs), self._per_request)
        parts = [inputs[start : start + self._per_request] for start in starts]
        answers = self._endpoint.ask_all([self._exchange(part, outputs) for part in parts], seconds=seconds)
        joined = [self._joined([answer[index] for answer in answers]) for index in range(len(outputs))]
        return joined[0], joined[1] if len(joined) > 1 else None

    def close(self) -> None:
        """Ends the connections."""
        self._endpoint.close()

    def _exchange(self, part: NDArray[np.float32], outputs: Sequence[str | None]) -> Exchange[list[Array]]:
        return Exchange(
            url=f"{self._endpoint.address.model}/infer",
            write=partial(self._write, part, outputs),
            read=partial(self._read, len(part), outputs),
            largest=self._largest(),
        )

    def _write(self, part: NDArray[np.float32], outputs: Sequence[str | None]) -> Message:
        if self._fixed is not None and len(part) < self._fixed:
            part = np.concatenate([part, np.repeat(part[-1:], self._fixed - len(part), axis=0)])
        names = [name for name in outputs if name is not None]
        # Where one output has no known name, none is named: a request that names some gets only those.
        wanted = names if len(names) == len(outputs) else []
        return write_request(part, self._signature.input, wanted, binary=self._binary)

    def _read(self, count: int, outputs: Sequence[str | None], answer: Message) -> list[Array]:
        """The answers to the images, without those to padding."""
        return [array[:count] for array in read_answer(answer, outputs, self._fixed or count)]

    def _joined(self, arrays: Sequence[Array]) -> Array:
        shapes = {array.shape[1:] for array in arrays}
        if len(shapes) > 1:
            raise self._endpoint.error("answered requests of one call with different shapes", sorted(shapes))
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    def _largest(self) -> int:
        """Bytes that an answer may have; a server may send its other outputs, too."""
        sizes = [output.shape[1:] if output.shape else None for output in self._signature.outputs]
        if not sizes or any(size is None or None in size for size in sizes):
            return LARGEST_UNDECLARED
        numbers = sum(math.prod(known for known in size or () if known is not None) for size in sizes)
        return BYTES_AROUND + self._per_request * numbers * BYTES_PER_NUMBER


class HttpAdapter:
    """Opens `http://` and `https://` addresses.

    Args:
        clock: tells the time; tests bring their own.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or RealClock()

    def accepts(self, source: str) -> bool:
        """Whether it is a web address."""
        return source.lower().startswith(("http://", "https://"))

    def load(self, source: str, options: ModelOptions) -> HttpRuntime:
        """Asks the endpoint for the model's signature.

        Raises:
            ModelError: the address is none of a model, or the endpoint does not answer as it should within 5 seconds.
        """
        address = parse_address(source)
        endpoint = Endpoint(address, token=Secret(options.token_env), requests=options.requests, clock=self._clock)
        try:
            return self._open(endpoint, options)
        except BaseException:
            endpoint.close()
            raise

    def _open(self, endpoint: Endpoint, options: ModelOptions) -> HttpRuntime:
        asked = "deadline" in options.model_fields_set
        seconds = options.deadline if asked else min(LOAD_SECONDS, options.deadline)
        ends = self._clock.now() + seconds
        metadata = Exchange(endpoint.address.model, None, read_signature, BYTES_AROUND)
        declared = endpoint.ask(metadata, seconds=seconds, attempts=LOAD_ATTEMPTS)
        signature = choose(declared, options, endpoint.error)
        binary = self._speaks_binary(endpoint, ends - self._clock.now())
        return HttpRuntime(endpoint, signature, options, binary=binary)

    def _speaks_binary(self, endpoint: Endpoint, seconds: float) -> bool:
        """Whether the server announces the extension; gateways that hide the server's metadata get JSON."""
        try:
            return endpoint.ask(
                Exchange(endpoint.address.server, None, announces_binary, BYTES_AROUND), seconds=seconds, attempts=1
            )
        except ModelError:
            return False


adapter = HttpAdapter()
