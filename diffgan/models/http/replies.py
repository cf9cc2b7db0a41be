"""What answers that are no answers mean: whether to try again, when, and what to tell the user."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from diffgan.models.http.address import shown_location
from diffgan.models.http.secret import Secret

#: A model that fails on the same images again and again will not stop to, unlike a gateway (502 to 504).
ATTEMPTS_AFTER_500 = 6

_LOCATION = "diffgan_location"


@dataclass(frozen=True)
class Trouble:
    """A failed attempt."""

    text: str
    """Our words, behind the endpoint's name."""
    given: tuple[object, ...] = ()
    """What came, raw: not for showing as it is."""
    attempts: int | None = None
    """How many attempts it is worth, in all; None: as many as the deadline allows."""
    wait: float = 0.0
    """Seconds that the server asks to wait."""


def transport_failed(error: httpx.TransportError) -> Trouble:
    """The connection failed; worth another attempt unless the certificate is to blame."""
    words = " ".join(str(error).split()) or type(error).__name__
    if "CERTIFICATE" in words.upper():
        fix = "the certificate cannot be verified; give its authority in the environment variable SSL_CERT_FILE"
        return Trouble(f"was not reached: {fix}", (words,), attempts=0)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Trouble("cannot be reached; see that the server is up and the address right", (words,))
    if isinstance(error, httpx.TimeoutException):
        return Trouble("was silent for all of the time that was left; raise the option deadline", (words,))
    return Trouble("broke the connection off, or does not speak HTTP", (words,))


def hide_location(response: httpx.Response) -> None:
    """Puts a redirect's address aside: httpx would read it even where it does not follow it, and quote it in errors."""
    location = response.headers.pop("location", None)
    if location is not None:
        response.extensions[_LOCATION] = location


def error_status(response: httpx.Response, body: bytes, token: Secret) -> Trouble:
    """A status other than 200: a redirect, a refusal, or a server that is in trouble itself."""
    status = response.status_code
    if 300 <= status < 400:
        return _redirect(response, token)
    words = _server_words(body)
    given = (words,) if words else ()
    if status == 429 or status in (500, 502, 503, 504) or status > 505:
        attempts = ATTEMPTS_AFTER_500 if status == 500 else None
        wait = _retry_after(response.headers.get("retry-after"))
        return Trouble(f"is in trouble, with status {status}", given, attempts=attempts, wait=wait)
    return Trouble(f"refused, with status {status}{_hint(status, token)}", given, attempts=0)


def _redirect(response: httpx.Response, token: Secret) -> Trouble:
    location = token.scrub(response.extensions.get(_LOCATION, ""))
    where = (shown_location(location, str(response.url)),) if location else ()
    text = f"redirects (status {response.status_code}), which is not followed, so that no token leaks"
    return Trouble(f"{text}; give the address that it leads to", where, attempts=0)


def _hint(status: int, token: Secret) -> str:
    if status in (401, 403):
        return f"; {'check' if token else 'set'} the token in the environment variable {token.variable}"
    return "; check the model's name and version" if status == 404 else ""


def _server_words(body: bytes) -> str:
    """The message in an error's body: the protocol has it under `error`, FastAPI under `detail`."""
    text = body.decode(errors="replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return re.sub(r"<[^>]*>", " ", text).strip()
    if isinstance(document, dict):
        for key in ("error", "detail", "message"):
            if document.get(key):
                return str(document[key])
    return text.strip()


def _retry_after(value: str | None) -> float:
    """Seconds to wait, from a number or a date; nothing where it is neither."""
    if value is None:
        return 0.0
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value.strip()):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, math.ceil((aware - datetime.now(UTC)).total_seconds()))
