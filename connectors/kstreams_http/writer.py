"""Post a task's results of a batch."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote

from typing_extensions import override

from kstreams import Record
from kstreams.sinks import CommitId, RefusedRow, Results, Writer
from kstreams_rows.encoding import made
from kstreams_rows.http import BusyError, HttpServer, RefusedError
from kstreams_rows.refusing import Refusals, refused
from kstreams_rows.retrying import Faults, hidden, retried

__all__ = ("PostWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_WRONG = frozenset({401, 403, 404, 405, 407, 410})
"""Status codes that mean a wrong address or missing rights, not a rejected body."""


class PostWriter(Writer[K, V]):
    """A `Writer` with one connection.

    Args:
        server: The server to post to.
        give_up_after: The maximum time to retry a request.
        body: Builds the body of one result.
        bodies: If given, builds the body of several results instead.
    """

    def __init__(
        self,
        server: HttpServer,
        give_up_after: timedelta,
        body: Callable[[K, V], object],
        bodies: Callable[[Sequence[Record[K, V]]], object] | None,
    ) -> None:
        self._server = server
        self._give_up_after = give_up_after
        self._body = body
        self._bodies = bodies
        self._faults = Faults(
            "the HTTP server",
            (RefusedError, BusyError, OSError, http.client.HTTPException),
            lambda exc: not isinstance(exc, RefusedError),
            _code,
            lambda exc: hidden(str(exc) or type(exc).__name__, server.secrets),
            "check the address, the headers, and the permissions of the credentials.",
        )

    @override
    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        records = results.records()
        if self._bodies is not None:
            wrong = self._together(self._bodies, records, (0, len(records)), commit)
        else:
            found, wrong = made(records, self._bytes)
            for number, body in found:
                reason = self._post(body, f"{commit}/{number}")
                if reason is not None:
                    wrong.append(refused(number, records[number], str(reason), _code(reason)))
        Refusals(results, "the HTTP server").reject(sorted(wrong, key=lambda each: each.row))
        return ()

    @override
    def close(self) -> None:
        self._server.close()

    def _together(
        self,
        body: Callable[[Sequence[Record[K, V]]], object],
        records: Sequence[Record[K, V]],
        part: tuple[int, int],
        commit: CommitId,
    ) -> list[RefusedRow]:
        """Post consecutive results in one request; if it is rejected, post each half.

        Args:
            body: Builds the body of several results.
            records: All results of the task's batch.
            part: The number of the first result to post, and the number after the last one.
            commit: The commit of the batch.

        Returns:
            The results that the server rejects.
        """
        start, stop = part
        whole = part == (0, len(records))
        name = str(commit) if whole else f"{commit}/{start}-{stop - 1}"
        reason = self._post(_encoded(body(records[start:stop])), name)
        if reason is None:
            return []
        if stop - start == 1:
            return [refused(start, records[start], str(reason), _code(reason))]
        half = (start + stop) // 2
        first = self._together(body, records, (start, half), commit)
        return first + self._together(body, records, (half, stop), commit)

    def _post(self, body: bytes, name: str) -> RefusedError | None:
        """Post a body; return the error if the server rejects it, else None.

        Args:
            body: The body.
            name: The value of the header `Idempotency-Key`.
        """
        headers = {"Idempotency-Key": quote(name, safe="/")}

        def ask() -> RefusedError | None:
            answer = self._server.ask("POST", body=body, headers=headers)
            if 200 <= answer.status < 300:
                return None
            text = hidden(f"status {answer.status}: {answer.shown}", self._server.secrets)
            error = RefusedError(text, answer.status)
            if answer.status in _WRONG or answer.status < 400:
                raise error
            return error

        return retried(ask, self._faults, self._give_up_after, self._server.close)

    def _bytes(self, record: Record[Any, Any]) -> bytes | None:
        body = self._body(record.key, record.value)
        return None if body is None else _encoded(body)


def _encoded(body: object) -> bytes:
    """Return the bytes of a body.

    Raises:
        TypeError, ValueError: The body cannot be encoded as JSON.
    """
    match body:
        case bytes():
            return body
        case str():
            return body.encode()
        case Mapping():
            return json.dumps(dict(body), allow_nan=False).encode()
    return json.dumps(body, allow_nan=False).encode()


def _code(exc: Exception) -> str:
    return str(exc.status) if isinstance(exc, RefusedError) else type(exc).__name__
