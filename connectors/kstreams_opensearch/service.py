"""OpenSearch's HTTP API, with retries of temporary failures and of requests rejected under load."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Container
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote

from kstreams.errors import SinkError
from kstreams.sinks import CommitId
from kstreams_rows.fence import lane_of
from kstreams_rows.http import BusyError, HttpServer, RefusedError
from kstreams_rows.retrying import Faults, hidden, retried

__all__ = ("Service",)

T = TypeVar("T")
"""The type of an operation's result."""

_ONE_SHARD = {"settings": {"number_of_shards": 1}}
_JSON = {"Content-Type": "application/json"}
_LINES = {"Content-Type": "application/x-ndjson"}
_TAKEN = 409


class Service:
    """Sends the requests of a sink to a cluster.

    Args:
        server: A node of the cluster, or a proxy.
        own: The name prefix of the sink's own indexes.
        give_up_after: The maximum time to retry.
    """

    def __init__(self, server: HttpServer, own: str, give_up_after: timedelta) -> None:
        self._server = server
        self._epochs, self._fences = f"{own}-epochs", f"{own}-fence"
        self._give_up_after = give_up_after
        self._faults = Faults(
            "OpenSearch",
            (RefusedError, BusyError, OSError, ValueError, http.client.HTTPException),
            lambda exc: not isinstance(exc, (RefusedError, ValueError)),
            lambda exc: str(getattr(exc, "status", type(exc).__name__)),
            lambda exc: hidden(str(exc) or type(exc).__name__, server.secrets),
            "check the address, the index, the login, and the permissions of the user.",
        )

    def retried(self, work: Callable[[], T]) -> T:
        """Return the result of an operation; retry temporary failures.

        Raises:
            SinkUnavailableError: The cluster did not answer, or rejected the request because of its
                load, for `give_up_after`.
            SinkError: The request was rejected; a retry would be rejected too.
        """
        return retried(work, self._faults, self._give_up_after, self._server.close)

    def prepare(self, index: str) -> None:
        """Check that an index exists, and create the sink's own indexes.

        Raises:
            SinkError: The index does not exist.
        """
        if self._ask("HEAD", f"/{_quoted(index)}", known={404})[0] == 404:
            raise SinkError(
                f"there is no index {index!r} in OpenSearch",
                hint="create it with its mapping, or correct the name.",
            )
        for name in (self._epochs, self._fences):
            if self._ask("HEAD", f"/{_quoted(name)}", known={404})[0] == 404:
                self._ask("PUT", f"/{_quoted(name)}", _ONE_SHARD, known={400})  # made meanwhile

    def epoch(self, epoch: str) -> int:
        """Return the number of an epoch, which is higher than those of all earlier epochs.

        It is the sequence number of the epoch's document in the index of epochs, which has one
        shard.
        """
        name = _quoted(epoch)
        status, made = self._ask(
            "PUT", f"/{_quoted(self._epochs)}/_create/{name}", {"epoch": epoch}, known={_TAKEN}
        )
        if status == _TAKEN:
            _, made = self._ask("GET", f"/{_quoted(self._epochs)}/_doc/{name}")
        return int(made["_seq_no"])

    def claim(self, commit: CommitId, version: int) -> bool:
        """Move a task's fence to a commit; return False if a later commit has moved it already."""
        path = f"/{_quoted(self._fences)}/_doc/{_quoted(lane_of(commit))}"
        asked = f"{path}?version={version}&version_type=external_gte"
        status, _ = self._ask("PUT", asked, {"batch": commit.batch}, known={_TAKEN})
        return status != _TAKEN

    def bulk(self, index: str, lines: bytes) -> list[dict[str, Any]]:
        """Execute a bulk request; return the response of each operation.

        Raises:
            BusyError: The cluster rejected some operations because of load.
        """
        answer = self._server.ask("POST", f"/{_quoted(index)}/_bulk", lines, _LINES)
        if answer.status != 200:
            raise RefusedError(f"status {answer.status}: {answer.shown}", answer.status)
        items: list[dict[str, Any]] = [
            next(iter(item.values())) for item in json.loads(answer.body)["items"]
        ]
        for item in items:
            if item["status"] == 429 or item["status"] >= 500:
                raise BusyError(str(item.get("error", item["status"])))
        return items

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def _ask(
        self, method: str, path: str, body: object = None, *, known: Container[int] = ()
    ) -> tuple[int, dict[str, Any]]:
        """Send a request; return the status and the JSON response if it is 2xx or in `known`."""
        sent = None if body is None else json.dumps(body).encode()
        answer = self._server.ask(method, path, sent, _JSON if sent else None, answers=known)
        if answer.status >= 300 and answer.status not in known:
            raise RefusedError(f"status {answer.status}: {answer.shown}", answer.status)
        return answer.status, json.loads(answer.body) if answer.body else {}


def _quoted(name: str) -> str:
    return quote(name, safe="")
