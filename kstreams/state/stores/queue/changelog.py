"""The changelog of queues: one record per waiting record, and one with the queue's times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from typing_extensions import override

from kstreams.errors import DeserializationError
from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import Before, ChangelogRecord, PlainForm
from kstreams.state.stores.queue.rows import QUEUED, QueueRows

__all__ = ("QueueForm",)

_HEAD = 17
"""The number of bytes in a row's key before the record's key."""


class QueueForm(PlainForm):
    """The changelog format of a queue: a record for each queued record, and one for `Progress`.

    A record's key has the key bytes, time and number of the queued record (8 bytes each), and the
    byte `QUEUED`. The record with the `Progress` of a task's queue has a key of one byte.
    """

    @override
    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        for row, value in changes:
            key = row
            if row[:1] == QUEUED:
                key = self._plain(row[_HEAD:]) + row[1:_HEAD] + QUEUED
            yield ChangelogRecord(key, value, time_ms)

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        rebuild = QueueRows.of(self._spec.open(overlay)).rebuild
        read, ordered = self._key.deserialize, self._key.ordered.serialize

        def restore(record: ChangelogRecord) -> None:
            key = record.key
            if key[-1:] != QUEUED:
                rebuild(key, record.value)
                return
            place = len(key) - _HEAD
            if place < 0:
                raise DeserializationError(
                    f"a changelog key of a queue store is truncated: expected {_HEAD} "
                    f"bytes or more, got {key!r}"
                )
            rebuild(QUEUED + key[place:-1] + ordered(read(key[:place])), record.value)

        return restore
