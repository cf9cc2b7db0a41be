"""Requests to an endpoint: several at a time, retried, within one deadline; the token goes there and nowhere else."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar

import httpx

from diffgan.errors import ModelError, RetryLaterError
from diffgan.models.http.address import Address
from diffgan.models.http.replies import Trouble, error_status, hide_location, transport_failed
from diffgan.models.http.round import Clock, Round
from diffgan.models.http.secret import Secret
from diffgan.models.http.tensors import Message, WireError

T = TypeVar("T")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0

#: A week: what waits in the standard library takes no infinity.
LONGEST_ROUND = 7 * 24 * 3600.0

#: As much of an error's body is read: its words matter, not its size.
LARGEST_COMPLAINT = 64 * 1024


@dataclass(frozen=True)
class Exchange(Generic[T]):
    """One request, written when its turn comes, and how its answer is read.

    Args:
        url: where to.
        write: makes the request; None: a GET.
        read: raises `WireError` for an answer that is not what was asked for.
        largest: bytes that a sane answer cannot exceed.
    """

    url: str
    write: Callable[[], Message] | None
    read: Callable[[Message], T]
    largest: int


class Endpoint:
    """The model's server.

    Args:
        address: where the model answers.
        token: sent along as a bearer token, if there is one.
        requests: how many may be in flight at a time.
        clock: tells the time.
    """

    def __init__(self, address: Address, *, token: Secret, requests: int, clock: Clock) -> None:
        self.address = address
        self._token = token
        self._clock = clock
        self._turn = threading.Lock()
        self._sockets_lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._pool = ThreadPoolExecutor(max_workers=requests, thread_name_prefix="diffgan-http")
        token.guard_logs()
        self._client = httpx.Client(
            headers={"accept-encoding": "identity", **token.headers()},
            follow_redirects=False,
            event_hooks={"response": [hide_location]},
            limits=httpx.Limits(max_connections=requests, max_keepalive_connections=requests, keepalive_expiry=30),
            # Over https a proxy from the environment sees nothing but a tunnel, and company networks need it, as they
            # need SSL_CERT_FILE. Over http it would read the token and the images. netrc is never asked: httpx leaves
            # that to httpx.NetRCAuth, and a token or none at all is all that goes out.
            trust_env=address.encrypted,
        )

    def __repr__(self) -> str:
        return f"Endpoint({self.address.model!r})"

    def error(self, text: str, *given: object) -> ModelError:
        """An error about this endpoint, with what it sent cleaned, rid of the token and shortened."""
        shown = "".join(f": {self._token.scrub_and_shorten(value)}" for value in given)
        return ModelError(self._token.scrub(f"{self.address.model} {text}{shown}."))

    def ask(self, exchange: Exchange[T], *, seconds: float, attempts: int | None = None) -> T:
        """One exchange, tried so many times (None: until the deadline).

        Raises:
            ModelError: it failed.
        """
        return self.ask_all([exchange], seconds=seconds, attempts=attempts)[0]

    def ask_all(self, exchanges: Sequence[Exchange[T]], *, seconds: float, attempts: int | None = None) -> list[T]:
        """All exchanges within so many seconds, their answers in order. The first failure ends the others.

        Raises:
            ModelError: one failed, or the deadline is over.
        """
        this = Round(min(seconds, LONGEST_ROUND), self._clock, attempts)
        if not self._turn.acquire(timeout=max(0.0, this.seconds)):
            raise self.error(this.too_late())
        try:
            futures: list[Future[T]] = []  # grown one by one, so that Ctrl-C finds all that were started
            try:
                for seed, exchange in enumerate(exchanges):
                    futures.append(self._pool.submit(self._try, exchange, this, seed))
                return self._collect(futures, this)
            finally:
                self._end(this, futures)
        finally:
            self._turn.release()

    def close(self) -> None:
        """Ends the connections and the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._client.close()
        self._token.unguard_logs()

    def _collect(self, futures: Sequence[Future[T]], this: Round) -> list[T]:
        _, waiting = wait(futures, timeout=max(0.0, this.left()), return_when=FIRST_EXCEPTION)
        if this.failure is not None:
            raise this.failure
        if waiting:
            raise self.error(this.too_late())
        return [future.result() for future in futures]

    def _end(self, this: Round, futures: Sequence[Future[Any]]) -> None:
        """After a failure, the deadline or Ctrl-C: nothing more is started, and what waits is woken up."""
        if all(future.done() for future in futures):
            return
        for future in futures:
            future.cancel()
        with self._sockets_lock:
            this.stop.set()
            for connected in self._sockets:
                _cut(connected)

    def _try(self, exchange: Exchange[T], this: Round, seed: int) -> T:
        """One exchange; its failure ends the round at once, before a free thread takes up the next."""
        try:
            return self._exchange(exchange, this, seed)
        except BaseException as failure:
            this.fail(failure)
            raise

    def _exchange(self, exchange: Exchange[T], this: Round, seed: int) -> T:
        """One exchange, with its retries."""
        message = exchange.write() if exchange.write else None
        random = Random(seed)
        attempt = 0
        while True:
            attempt += 1
            outcome = self._attempt(exchange, message, this)
            if isinstance(outcome, Message):
                return self._read(exchange, outcome)
            self._pause_after(outcome, attempt, random, this)

    def _read(self, exchange: Exchange[T], answer: Message) -> T:
        try:
            return exchange.read(answer)
        except WireError as error:
            failure = self.error(str(error), *error.given)
        # Outside of the except clause, so that what came, token and all, does not hang on the error as its context.
        raise failure

    def _attempt(self, exchange: Exchange[Any], message: Message | None, this: Round) -> Message | Trouble:
        left = this.left()
        if left <= 0 or this.stop.is_set():
            return Trouble(this.too_late(), attempts=0)
        try:
            with self._client.stream(
                "POST" if message else "GET",
                exchange.url,
                content=message.body if message else None,
                headers=dict(message.headers) if message else None,
                timeout=left,
                extensions={"trace": self._watch(this)},
            ) as response:
                return self._receive(response, exchange.largest, this)
        except httpx.TransportError as error:
            return transport_failed(error)

    def _receive(self, response: httpx.Response, largest: int, this: Round) -> Message | Trouble:
        """The answer's body, never more of it than is sane; redirects and errors as trouble."""
        encoding = response.headers.get("content-encoding", "identity")
        if response.is_success and encoding != "identity":
            return Trouble("answered with a compression that was not asked for", (encoding,), attempts=0)
        body = bytearray()
        for chunk in response.iter_raw():
            body += chunk
            if this.left() <= 0:
                return Trouble(this.too_late(), attempts=0)
            if not response.is_success and len(body) > LARGEST_COMPLAINT:
                break
            if response.is_success and len(body) > largest:
                return Trouble(f"answered more than {largest} bytes, which cannot be right for this model", attempts=0)
        if response.is_success:
            return Message(response.headers, bytes(body))
        return error_status(response, bytes(body), self._token)

    def _pause_after(self, trouble: Trouble, attempt: int, random: Random, this: Round) -> None:
        """Waits before the next attempt, or raises where there must be none."""
        failure = self.error(trouble.text, *trouble.given)
        limits = [limit for limit in (trouble.attempts, this.attempts) if limit is not None]
        if this.stop.is_set() or attempt >= min(limits, default=math.inf):
            raise failure
        left = this.left()
        this.trouble = str(failure).removeprefix(f"{self.address.model} ").removesuffix(".")
        if trouble.wait > left:
            told = self.error(f"{trouble.text}; it asks to wait {trouble.wait:.0f} s, but only {left:.0f} s are left")
            raise RetryLaterError(str(told), trouble.wait)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt - 1, 20)) * random.uniform(0.5, 1.0)
        # Half of what is left at most, so that the last moments see another attempt.
        this.pause(max(trouble.wait, min(pause, max(left / 2, 0.01))))

    def _watch(self, this: Round) -> Callable[[str, Mapping[str, Any]], None]:
        """Learns of each new connection's socket, which httpx shows to nobody else before the answer's headers."""

        def note(event: str, info: Mapping[str, Any]) -> None:
            if not event.endswith(("connect_tcp.complete", "start_tls.complete")):
                return
            connected = info["return_value"].get_extra_info("socket")
            if not isinstance(connected, socket.socket):
                return
            with self._sockets_lock:
                self._sockets = [known for known in self._sockets if known.fileno() != -1] + [connected]
                if this.stop.is_set():
                    _cut(connected)

        return note


def _cut(connected: socket.socket) -> None:
    """Wakes up whoever reads from or writes to a socket; closing it would not."""
    with contextlib.suppress(OSError):
        # Of the plain socket: an SSLSocket would drop its TLS state under the other thread.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
