"""The page on the network: its address, its token, and how it ends."""

from __future__ import annotations

import errno
import ipaddress
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn

from diffgan.errors import UsageError
from diffgan.labelling.gate import LOOPBACK_NAMES, Rules

if TYPE_CHECKING:
    from starlette.types import ASGIApp

USUAL_PORT = 8423
_GOODBYE_SECONDS = 3


@dataclass(frozen=True)
class Place:
    """Where the page is reached.

    Attributes:
        listening: the open socket.
        address: what to open in a browser; it brings the token, where there is one.
        rules: who may come in.
    """

    listening: socket.socket
    address: str
    rules: Rules


def open_place(host: str, port: int | None) -> Place:
    """Opens the address, before anything long begins.

    Args:
        host: a name or an address of this machine.
        port: 0 for a free one; None for the usual one, or else a free one.

    Raises:
        UsageError: the port is in use, or the host is none of this machine.
    """
    listening = _listen(host, port)
    taken = listening.getsockname()[1]
    here = _is_loopback(listening.getsockname()[0])
    token = None if here else secrets.token_urlsafe(24)
    rules = Rules(hosts=_names(host, here=here), token=token, cookie=f"diffgan-label-{taken}")
    address = f"http://{_in_address(host)}:{taken}/"
    return Place(listening, address if token is None else f"{address}?token={token}", rules)


def server_of(app: ASGIApp) -> uvicorn.Server:
    """What answers; its `should_exit` ends it."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # addresses may bring the token
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=_GOODBYE_SECONDS,
        )
    )


def serve(app: ASGIApp, place: Place) -> None:
    """Answers until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        server_of(app).run(sockets=[place.listening])


def _listen(host: str, port: int | None) -> socket.socket:
    if port is not None:
        return _bind(host, port)
    try:
        return _bind(host, USUAL_PORT)
    except UsageError:
        return _bind(host, 0)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise UsageError(f"--host {host} is no address of this machine: give one of its names or numbers.") from None
    try:
        if os.name == "posix":  # elsewhere, it would share a port in use
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise UsageError(_refused(host, port, error)) from None
    return listening


def _refused(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use: give another --port, or leave it out for a free one."
    if error.errno == errno.EACCES:
        return f"Port {port} may not be opened by you: give a --port from 1024."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host {host} is no address of this machine: give one of its names or numbers."
    return f"Port {port} at {host} cannot be opened ({error.strerror}): give another --port or --host."


def _names(host: str, *, here: bool) -> tuple[str, ...]:
    """What the Host header may say; numbers are checked apart."""
    if here:
        return (*LOOPBACK_NAMES, host.lower())
    own = socket.gethostname().lower()
    return (*LOOPBACK_NAMES, host.lower(), own, own.partition(".")[0], f"{own.partition('.')[0]}.local")


def _is_loopback(number: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(number.partition("%")[0]).is_loopback
    return False


def _in_address(host: str) -> str:
    """As a browser takes it; for `any address`, this machine's name."""
    if host in ("0.0.0.0", "::", ""):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
