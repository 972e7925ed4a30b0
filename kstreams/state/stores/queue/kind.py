"""The kind of queues, and the function that defines a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.kind import Content, StoreKind, Times, is_within
from kstreams.state.stores.queue.changelog import QueueForm
from kstreams.state.stores.queue.rows import Progress, QueueRows
from kstreams.state.stores.queue.store import QueueStore
from kstreams.state.stores.spec import StoreSpec

__all__ = ("QUEUE", "QueueKind", "queue_store")


_Live = QueueStore[Any, Any]
_Row = tuple[Any, Record[Any, Any]]
"""A key and a queued record."""


@dataclass(frozen=True)
class QueueKind(StoreKind[_Live]):
    """The kind of stores with waiting records, ordered by time."""

    columns: ClassVar[tuple[str, ...]] = ("key", "value", "timestamp_ms")
    has_times: ClassVar[bool] = True
    holds_input: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return QueueStore(spec, overlay)

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return QueueForm(spec)

    @override
    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        rows = store.fetch_all(reverse=reverse)
        return (row for row in rows if is_within(row[0], start, end))

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], Any]:
        """Return a function that returns the timestamp of a row."""
        return lambda row: row[1].timestamp

    @override
    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        key, record = row
        yield key, record.value, record.timestamp

    @override
    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        low, high = times
        for _, record in store.fetch(key, low, None if high is None else high - 1):
            yield record.value, record.timestamp

    def task_values(self, spec: StoreSpec[_Live], overlay: Overlay) -> Progress:
        """Return the newest time, next record number and released time of the queue."""
        return QueueRows.of(self.open(spec, overlay)).progress()

    def set_task_values(
        self, spec: StoreSpec[_Live], overlay: Overlay, found: Sequence[object]
    ) -> None:
        """Set the newest and released times of a new task's queue from the queues of all old tasks.

        The newest time is the latest of the old queues. The released time is the earliest of them,
        so that the new queue releases each of its records: all of them are still waiting.
        """
        QueueRows.of(self.open(spec, overlay)).follow(
            [progress for progress in found if isinstance(progress, Progress)]
        )

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield the waiting records, in the order of time."""
        for key, record in self.open(spec, overlay).fetch_all():
            yield Content(key, record.value, (record.timestamp,), record.headers)

    @override
    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        rows = QueueRows.of(self.open(spec, overlay))
        return lambda content: rows.put(
            Record(content.key, content.value, content.times[0], content.headers)
        )


QUEUE = QueueKind("queue")


def queue_store(name: str, *, key: Serde[K], value: Serde[V]) -> StoreSpec[QueueStore[K, V]]:
    """Define a queue for the records that `join_as_of` holds back.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: Serde of the values.
    """
    return StoreSpec(name, QUEUE, key, value)
