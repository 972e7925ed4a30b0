"""A connection that is reopened when it is lost, and conversion of a database's errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import chain
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from kstreams_rows.retrying import Faults, hidden, retried

__all__ = ("Connection", "Database", "code_of", "may_pass")

T = TypeVar("T")
"""The type of an operation's result."""

Connection = psycopg.Connection[Any]

_CONNECT_S = 10
_IDLE_S = 60
"""The seconds after which the server ends an idle transaction, such as of a hung writer."""
_FORM = {
    "client_encoding": "UTF8",
    "datestyle": "ISO, YMD",
    "intervalstyle": "iso_8601",
    "timezone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
}
"""Settings that give values the same text in each session."""
_PASSING = ("08", "40", "53", "57", "58", "F0", "XX")
"""SQLSTATE classes of temporary errors: connections, deadlocks, resources, shutdown, system."""
_LOCKED = ("55P03", "55006", "25006")
"""Further temporary SQLSTATEs: a held lock, an object in use, a server that became read-only."""


class Database:
    """A database with one connection, replaced after it fails.

    Args:
        url: The connection string.
        give_up_after: The maximum time to retry.
        lock_timeout: The maximum time a statement waits for a lock.
        reads: Whether the database belongs to a source: errors are source errors, and values have a
            fixed text format.
    """

    def __init__(
        self, url: str, give_up_after: timedelta, lock_timeout: timedelta, *, reads: bool = False
    ) -> None:
        self._url = url
        self._give_up_after = give_up_after
        self._lock_ms = max(1, int(lock_timeout.total_seconds() * 1000))
        self._connection: Connection | None = None
        self._settings = {
            "lock_timeout": f"{self._lock_ms}ms",
            "idle_in_transaction_session_timeout": f"{_IDLE_S}s",
            **(_FORM if reads else {}),
        }
        self._faults = Faults(
            "PostgreSQL",
            (psycopg.Error, OSError),
            may_pass,
            code_of,
            lambda exc: _without_secrets(str(exc), url),
            f"check the table, its columns, and the permissions of the user to "
            f"{'read' if reads else 'write to'} it.",
            read=reads,
        )

    def retried(self, work: Callable[[Connection], T]) -> T:
        """Return the result of an operation on the connection; retry temporary failures.

        Args:
            work: The operation; it must be safe to repeat.

        Raises:
            SinkUnavailableError, SourceUnavailableError: The database did not answer within
                `give_up_after`.
            SinkError, SourceError: The request was rejected; a retry would be rejected too.
        """
        return retried(lambda: work(self._open()), self._faults, self._give_up_after, self.close)

    def close(self) -> None:
        """Close the connection; the next operation opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error, OSError):
                connection.close()

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed:
            made = psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_S)
            self._connection = made
            each = sql.SQL(", ").join([sql.SQL("set_config(%s, %s, false)")] * len(self._settings))
            made.execute(sql.SQL("SELECT {}").format(each), list(chain(*self._settings.items())))
        return self._connection


def code_of(exc: BaseException) -> str:
    """Return the SQLSTATE of an error; empty if it has none."""
    return getattr(exc, "sqlstate", None) or ""


def may_pass(exc: BaseException) -> bool:
    """Return whether an error is temporary, because of the connection, a lock or the server."""
    code = code_of(exc)
    if not code:
        return isinstance(exc, (psycopg.OperationalError, psycopg.InterfaceError, OSError))
    return code[:2] in _PASSING or code in _LOCKED


def _without_secrets(text: str, url: str) -> str:
    """Return a text without the URL, and without the password in any encoding."""
    try:
        known = conninfo_to_dict(url)
    except psycopg.Error:
        return "the url is not a connection string of libpq"
    names = ("password", "sslpassword", "passfile", "sslkey")
    return hidden(text, (url, *(str(known.get(name) or "") for name in names)))
