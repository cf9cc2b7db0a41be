"""Where a study is kept: a journal in its folder, or a database behind a URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffgan.errors import GeneratorError, UsageError

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

JOURNAL = "study.journal"

#: Seconds to wait for a database to answer.
ANSWER_WITHIN = 10

#: What to install where a driver is missing, if that is not the module's own name.
_PACKAGES = {
    "psycopg": "psycopg[binary]",
    "psycopg2": "psycopg2-binary",
    "MySQLdb": "mysqlclient",
    "cx_Oracle": "oracledb",
}

_FORMS = "postgresql+psycopg://USER:PASSWORD@HOST/DATABASE or sqlite:///FILE"

#: Two processes that make the tables at once: one of them is told that they are there.
_ATTEMPTS = 3


def open_journal(folder: Path) -> BaseStorage:
    """The journal in a study's folder.

    Raises:
        GeneratorError: it is damaged.
        OSError: the disk refuses.
    """
    from optuna.storages import JournalStorage

    from diffgan.gan_training.journal import WholeLinesJournal

    path = folder / JOURNAL
    try:
        return JournalStorage(WholeLinesJournal(path))
    except (ValueError, KeyError, TypeError) as error:
        raise GeneratorError(
            f"{path} is damaged ({error}): restore it from a copy, or tune again in another folder."
        ) from error


def open_database(url: str) -> BaseStorage:
    """The database behind a URL.

    Raises:
        UsageError: the URL is none, its driver is missing, or the database does not answer or refuses.
    """
    from optuna.storages import RDBStorage
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

    if url.startswith("redis"):
        raise UsageError(f"--storage takes a database such as {_FORMS}; Redis is none of them.")
    for attempt in range(_ATTEMPTS):
        try:
            return RDBStorage(url, engine_kwargs=_engine_options(url))
        except ImportError as error:
            raise UsageError(_missing_driver(url, error)) from error
        except NoSuchModuleError as error:
            raise UsageError(f"--storage {shown(url)}: there is no such kind of database; give {_FORMS}.") from error
        except (ArgumentError, ValueError) as error:
            raise UsageError(f"--storage {shown(url)!r} is no storage URL: give {_FORMS}.") from error
        # A TypeError comes from a database in SQL_ASCII, which answers with bytes where text is expected.
        except (SQLAlchemyError, OSError, RuntimeError, TypeError) as error:
            if "already exists" in str(error) and attempt + 1 < _ATTEMPTS:
                continue
            raise UsageError(
                f"The storage {shown(url)} cannot be used ({_reason(error)}): see that the database runs "
                "(PostgreSQL's in UTF8), and the name, password and database in --storage."
            ) from error
    raise AssertionError("every attempt returns or raises")


@contextmanager
def storage_faults() -> Iterator[None]:
    """Turns what a storage raises in the middle of a study into one clear line.

    Raises:
        GeneratorError: the storage stopped answering; what is in it stands.
    """
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        raise GeneratorError(
            f"The storage of the study stopped answering ({_reason(error.__cause__ or error)}): see the database, then "
            "go on with --resume; the trials that are done are kept."
        ) from error


def shown(url: str) -> str:
    """A storage URL without its password, wherever in it that stands."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
        secret = {name: "***" for name in parsed.query if "pass" in name.lower()}
        return parsed.update_query_dict(secret).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        # It may hold a password all the same: before the last @.
        _, at, rest = url.rpartition("@")
        return f"...{at}{rest}"[:80] if at else url[:80]


def _engine_options(url: str) -> dict[str, Any]:
    if url.startswith("sqlite"):
        return {"connect_args": {"timeout": 60}}
    if url.startswith(("postgresql", "mysql", "mariadb")):
        return {"pool_pre_ping": True, "connect_args": {"connect_timeout": ANSWER_WITHIN}}
    return {"pool_pre_ping": True}


def _missing_driver(url: str, error: ImportError) -> str:
    cause = error.__cause__
    module = (cause.name if isinstance(cause, ImportError) else error.name) or "the driver"
    package = _PACKAGES.get(module, module)
    return f"The storage {shown(url)} needs the package {module}, which is not installed: pip install '{package}'."


def _reason(error: BaseException) -> str:
    """The first line of what the driver itself says: the ones after it are advice."""
    told = str(getattr(error, "orig", None) or error)
    lines = [line.strip() for line in told.splitlines() if line.strip() and not line.startswith("(Background")]
    return lines[0] if lines else type(error).__name__
