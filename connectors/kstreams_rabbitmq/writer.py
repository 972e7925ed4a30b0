"""Stage a task's results of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.errors import SinkError
from kstreams.sinks import CommitId, Results, Writer
from kstreams_rabbitmq.messages import written
from kstreams_rabbitmq.places import Places
from kstreams_rabbitmq.staging import Staged
from kstreams_rows.encoding import made
from kstreams_rows.refusing import Refusals

__all__ = ("StreamWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_MOST_TASKS = 200


class StreamWriter(Writer[K, V]):
    """A `Writer` with one connection.

    Args:
        places: The sessions; closed with this object.
        staged: The name of the staging stream.
        body: Builds messages.
        max_bytes: The maximum size of a message.
    """

    def __init__(
        self, places: Places, staged: str, body: Callable[[K, V], bytes | None], max_bytes: int
    ) -> None:
        self._places = places
        self._staged = staged
        self._body = body
        self._max_bytes = max_bytes

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Stage a batch's results; return the receipt of their location."""
        if commit.task >= _MOST_TASKS:
            raise SinkError(
                f"a RabbitMQ stream supports at most {_MOST_TASKS} publishing tasks; the sink has "
                f"more (task number {commit.task})",
                hint="add a repartition with fewer partitions upstream of the sink.",
            )
        found, wrong = made(results.records(), self._message)
        Refusals(results, "RabbitMQ").reject(wrong)
        messages = [message for _, message in found]
        if not messages:
            return ()
        staged = self._places.retried(lambda: Staged.put(self._places, self._staged, messages))
        return (str(staged),)

    @override
    def close(self) -> None:
        self._places.close()

    def _message(self, record: Record[Any, Any]) -> bytes | None:
        body = self._body(record.key, record.value)
        if body is None:
            return None
        names = [name for name, _ in record.headers]
        if len(set(names)) < len(names):
            raise ValueError("two headers have the same name, which AMQP does not allow")
        message = written(body, record.headers)
        if len(message) > self._max_bytes:
            raise ValueError(
                f"the message has {len(message):,} bytes, more than max_bytes={self._max_bytes:,}"
            )
        return message
