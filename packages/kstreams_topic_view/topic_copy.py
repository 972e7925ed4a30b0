"""A working copy of one partition of a topic: the last value of each key."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, Generic

from kstreams._types import K, V
from kstreams.connection import RawRecord
from kstreams.errors import DeserializationError
from kstreams.partitioner import Partitioner
from kstreams.serde.base import Serde
from kstreams.state.backend.working import Pair, StoreChanges
from kstreams.state.cache.times import BEFORE_ALL
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.topic import Topic
from kstreams.views.layered_copy import LayeredCopy, State, WorkingCopy, slices

__all__ = ("TopicCopy",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_CHECKED_KEYS = 1_000


class TopicCopy(LayeredCopy[KeyValueStore[K, V]], Generic[K, V]):
    """A working copy that follows one partition of a topic.

    Args:
        topic: The topic.
        spec: The store definition of its rows.
        copy: The working copy, with the records before `position`.
        position: The first offset that is not in the copy.
        skips: Whether records that cannot be decoded are skipped.

    Attributes:
        position: The current position.
        skipped: The number of skipped records: without a key, or not decodable.
        misplaced: Whether a key is in another partition than the topic's partitioner chooses.
        state: The current content of the copy.
    """

    def __init__(
        self,
        topic: Topic[K, V],
        spec: StoreSpec[KeyValueStore[K, V]],
        copy: WorkingCopy,
        *,
        position: int,
        skips: bool,
    ) -> None:
        super().__init__(spec)
        self._topic = topic
        self._skips = skips
        self._checked = 0
        self.position = position
        self.skipped = 0
        self.misplaced = False
        self._replace(copy)
        self.working = copy
        self.state: State[KeyValueStore[K, V]] = self._state(copy, BEFORE_ALL)

    def apply(self, records: Iterable[RawRecord], partitions: int) -> State[KeyValueStore[K, V]]:
        """Apply records in the order of offsets, and return the new content.

        Args:
            records: The records from `position` on.
            partitions: The number of partitions of the topic.

        Raises:
            DeserializationError: A record cannot be decoded; earlier records are applied.
        """
        found: dict[bytes, bytes | None] = {}
        try:
            for record in records:
                row = self._row(record)
                if row is not None:
                    found[row[0]] = row[1]
                    self._check_place(record, partitions)
                self.position = record.offset + 1
        finally:
            if found:
                self._add([StoreChanges(sorted(found.items()))])
                self.state = self._state(self.working, BEFORE_ALL)
        return self.state

    def remove(self, state: State[KeyValueStore[K, V]], changes: StoreChanges) -> None:
        """Remove rows from the copy; the topic does not change."""
        self.state = self.evict(state, changes)

    def save(self) -> None:
        """Write all pending changes to the copy, and close it; the directory of the copy stays."""
        name = self._spec.name
        for layer in reversed(self._layers):
            for part in slices(layer.changes):
                self.working.store.write({name: part})
        self._layers = ()
        self.working.store.close()

    def _row(self, record: RawRecord) -> Pair | None:
        try:
            key, value, _ = self._topic.unframed(record.key, record.value, record.headers)
            if key is None:
                self._skip(record, "it has no key")
                return None
            spec, topic = self._spec, self._topic
            kept = None if value is None else _recoded(value, topic.value, spec.value)
            return _recoded(key, topic.key, spec.key.ordered), kept
        except DeserializationError as exc:
            if self._skips:
                self._skip(record, str(exc))
                return None
            exc.at(topic=record.topic, partition=record.partition, offset=record.offset)
            raise

    def _skip(self, record: RawRecord, reason: str) -> None:
        self.skipped += 1
        if self.skipped == 1:
            place = f"{record.topic}-{record.partition}, offset {record.offset}"
            _LOG.warning("the view of a topic skips the record at %s: %s", place, reason)

    def _check_place(self, record: RawRecord, partitions: int) -> None:
        """Set `misplaced` if a record's key is in another partition; checks only the first keys."""
        if self._checked < _CHECKED_KEYS and not self.misplaced:
            self._checked += 1
            rule: Partitioner = self._topic.partitioner
            self.misplaced = rule.partition(record.key or b"", partitions) != record.partition


def _recoded(data: bytes, read: Serde[Any], write: Serde[Any]) -> bytes:
    """Convert data to the format of another serde, after checking that it can be decoded."""
    value = read.deserialize(data)
    return data if read is write else write.serialize(value)
