"""MongoDB's client, with retries of temporary failures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from kstreams.errors import SinkError
from kstreams_mongodb.documents import Document
from kstreams_mongodb.sdk import Collection, MongoClient, WriteConcern, errors
from kstreams_rows.retrying import Faults, hidden, retried

__all__ = ("PASSING", "Server", "check_address")

T = TypeVar("T")
"""The type of an operation's result."""

PASSING = frozenset(
    {
        *(6, 7, 24, 50, 64, 89, 91, 112, 133, 134, 189, 202, 262),
        *(9001, 10107, 11600, 11602, 13435, 13436),
    }
)
"""MongoDB's error codes of temporary failures: unreachable hosts, locks, timeouts, write conflicts,
and servers that are not primary any more."""
_CONNECT_MS = 5_000
_ANSWER_MS = 30_000


class Server:
    """MongoDB's client for one process.

    Args:
        url: The URL of the server.
        give_up_after: The maximum time to retry.
    """

    def __init__(self, url: str, give_up_after: timedelta) -> None:
        self._url = url
        self._give_up_after = give_up_after
        self._client: MongoClient[Document] | None = None
        self._faults = Faults(
            "MongoDB",
            (errors.PyMongoError, OSError),
            _may_pass,
            _code,
            lambda exc: hidden(_text(exc), _secrets(url)),
            "check url=, the password, and the permissions of the user.",
        )

    def retried(self, work: Callable[[], T]) -> T:
        """Return the result of an operation with the client; retry temporary failures.

        Raises:
            SinkUnavailableError: MongoDB did not answer within `give_up_after`.
            SinkError: The request was rejected; a retry would be rejected too.
        """
        return retried(work, self._faults, self._give_up_after, self.close)

    def collection(self, name: str) -> Collection[Document]:
        """Return a collection, `database.name`, whose writes wait for a durable majority."""
        if self._client is None:
            self._client = self._made()
        database, _, own = name.partition(".")
        return self._client[database].get_collection(
            own, write_concern=WriteConcern("majority", wtimeout=_ANSWER_MS)
        )

    def _made(self) -> MongoClient[Document]:
        try:
            return MongoClient(
                self._url,
                retryWrites=False,
                serverSelectionTimeoutMS=_CONNECT_MS,
                connectTimeoutMS=_CONNECT_MS,
                socketTimeoutMS=_ANSWER_MS,
                appname="kstreams",
            )
        except (errors.ConfigurationError, ValueError):
            raise SinkError(
                "url= is not a valid MongoDB address",
                hint="expected mongodb://user:password@host:port, with special characters in the "
                "user and password percent-encoded.",
            ) from None

    def close(self) -> None:
        """Close the connections; the next operation opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(errors.PyMongoError, OSError):
                client.close()


def check_address(url: str, collection: str) -> None:
    """Check the URL of a server and the name of a collection.

    Raises:
        ValueError: The URL or the name is invalid; the error does not show the URL.
    """
    if not url.startswith(("mongodb://", "mongodb+srv://")):
        raise ValueError("url= is not a valid MongoDB address: expected mongodb://host:port")
    database, _, own = collection.partition(".")
    if not database or not own or "$" in collection or "\0" in collection:
        raise ValueError(
            f"collection name {collection!r} is not valid: expected database.collection"
        )


def _may_pass(exc: Exception) -> bool:
    if isinstance(exc, errors.BulkWriteError):
        return True  # of the write concern, or of codes that pass: others are rows' faults
    if isinstance(exc, (errors.ConnectionFailure, errors.WTimeoutError, OSError)):
        return True
    return isinstance(exc, errors.OperationFailure) and exc.code in PASSING


def _code(exc: Exception) -> str:
    found = getattr(exc, "code", None)
    return type(exc).__name__ if found is None else str(found)


def _text(exc: Exception) -> str:
    if isinstance(exc, errors.BulkWriteError):
        details: Any = exc.details or {}
        found = [*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())]
        return str(found[0].get("errmsg", "")) if found else "a bulk write failed"
    return str(exc)


def _secrets(url: str) -> tuple[str, ...]:
    try:
        password = urlsplit(url).password or ""
    except ValueError:  # the client says that it is none
        return (url,)
    return url, password, unquote(password)
