"""The bearer token of an endpoint, and how it is kept out of everything that people read."""

from __future__ import annotations

import logging
import os
import re

from diffgan.errors import ModelError

#: So much of what an endpoint sent is shown.
LONGEST_QUOTE = 200

#: At level DEBUG these write out the headers that a server sends, which may repeat the token.
TALKATIVE_LOGGERS = ("httpcore.connection", "httpcore.http11", "httpcore.proxy", "httpx")


class Secret:
    """A token from the environment; empty where the variable is not set.

    Args:
        variable: the environment variable.

    Raises:
        ModelError: it holds what no HTTP header may.
    """

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self._filter = _LogFilter(self)
        self._value = os.environ.get(variable, "").strip()
        if not re.fullmatch(r"[!-~]*", self._value):
            raise ModelError(
                f"The environment variable {variable} holds spaces or characters that a token cannot have: "
                "set it to the bare token, without 'Bearer'."
            )

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"Secret({self.variable!r}, {'set' if self else 'not set'})"

    def headers(self) -> dict[str, str]:
        """What to send along."""
        return {"authorization": f"Bearer {self._value}"} if self._value else {}

    def scrub(self, text: str) -> str:
        """The text without the token, for servers that repeat it."""
        return re.sub(re.escape(self._value), "***", text, flags=re.IGNORECASE) if self._value else text

    def guard_logs(self) -> None:
        """Keeps the token out of the HTTP library's logs, until `unguard_logs`."""
        if self._value:
            for name in TALKATIVE_LOGGERS:
                logging.getLogger(name).addFilter(self._filter)

    def unguard_logs(self) -> None:
        """Takes the filters away."""
        for name in TALKATIVE_LOGGERS:
            logging.getLogger(name).removeFilter(self._filter)

    def scrub_and_shorten(self, given: object) -> str:
        """What an endpoint sent, on one short line: cleaned first, since that may join a token's pieces, cut last."""
        # Of a long list the first few tell enough, and millions of numbers need not be written out.
        text = str(given[:10] if isinstance(given, list) and len(given) > 100 else given)
        line = " ".join("".join(char for char in text if char.isprintable() or char.isspace()).split())
        quote = self.scrub(line)
        return quote if len(quote) <= LONGEST_QUOTE else quote[: LONGEST_QUOTE - 1] + "…"


class _LogFilter(logging.Filter):
    """Rewrites records, and lets all of them pass."""

    def __init__(self, secret: Secret) -> None:
        super().__init__()
        self._secret = secret

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._secret.scrub(record.getMessage()), ()
        return True
