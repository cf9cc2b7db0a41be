"""The address of a model at an endpoint, and how addresses may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from diffgan.errors import ModelError

EXPECTED = "http(s)://host[:port][/prefix]/v2/models/NAME[/versions/VERSION]"

_PATH = re.compile(r"(?P<base>.*/v2)(?P<model>/models/[^/]+(?:/versions/[^/]+)?)(?:/infer)?/?")


@dataclass(frozen=True)
class Address:
    """Where a model answers."""

    server: str
    """The protocol's root, such as `http://127.0.0.1:8080/v2`."""
    model: str
    """The model below it, without `/infer`: what messages show."""

    @property
    def encrypted(self) -> bool:
        """Whether it is https."""
        return self.server.startswith("https:")


def parse_address(source: str) -> Address:
    """Reads the address of a model.

    Raises:
        ModelError: it has another form, or carries credentials, which the message does not repeat.
    """
    if "@" in source.partition("/v2/models/")[0]:
        raise ModelError(
            "The endpoint's address carries credentials (user:password@), which would show in reports and logs: remove "
            "them, and put the token into the environment variable DIFFGAN_TOKEN (or the one that token_env names)."
        )
    parts = _split(source)
    path = _PATH.fullmatch(parts.path) if parts and not (parts.query or parts.fragment) else None
    if parts is None or path is None:
        raise ModelError(f"{_shown(source)} is no address of a model: expected {EXPECTED}.")
    root = f"{parts.scheme}://{parts.netloc}{path['base']}"
    return Address(server=root, model=root + path["model"])


def shown_location(location: str, base: str) -> str:
    """Where a redirect leads, without what may be secret: credentials and the query."""
    try:
        parts = _split(urljoin(base, location))
    except ValueError:
        parts = None
    if parts is None:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _split(address: str) -> SplitResult | None:
    """The parts of an address, if it is one at all."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    printable = all(char.isprintable() and not char.isspace() for char in address)
    return parts if printable and parts.hostname and port != 0 else None


def _shown(source: str) -> str:
    """An address that was not understood: a query may hold a key, and an `@` a password."""
    if "@" in source:
        return "The address given"
    bare = re.split(r"[?#]", source, maxsplit=1)[0]
    return bare if bare == source else f"{bare}?… (with a query)"
