"""A store as records: the contract of a changelog's form, and what several kinds share of it.

Knows bytes and stores, but neither topics nor tasks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StoreRows
from kstreams.state.stores.timed_rows import ROW

__all__ = (
    "COMPACTED",
    "Before",
    "ChangelogForm",
    "ChangelogRecord",
    "PlainForm",
    "RowForm",
    "key_and_numbers",
    "stamped_record",
    "values_before",
)

COMPACTED: Mapping[str, str] = {"cleanup.policy": "compact"}
"""Settings of a topic that keeps the last record of each key."""

Before = Callable[[Sequence[bytes]], "list[bytes | None]"]
"""Returns what rows held before the batch, by their encoded keys."""

_TIME = struct.Struct(">q")


class ChangelogRecord(NamedTuple):
    """A record of a changelog: encoded by the store's own serdes; timestamp in ms."""

    key: bytes
    value: bytes | None
    timestamp: int


class ChangelogForm(Protocol):
    """How one store's rows become records, and records its rows again."""

    @property
    def config(self) -> Mapping[str, str]:
        """Return the settings of the topic, by Kafka's names."""
        ...

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield the records of what a batch has changed, in a fixed order.

        Args:
            changes: Rows by rising key.
            before: What rows held; all absent when the whole store is written.
            time_ms: The time of what has none of its own.
        """
        ...

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Return what does with the store of an overlay what a record says.

        It raises `DeserializationError` where the record is not of this store.
        """
        ...


class PlainForm:
    """Key and value; the time is that of the batch.

    The base of the other forms: `_plain` turns a store's ordered key bytes into those that
    topics have, `_decoded` a record into key and value.

    Args:
        spec: The store.
    """

    config: Mapping[str, str] = COMPACTED

    def __init__(self, spec: StoreSpec[Any]) -> None:
        self._spec = spec
        self._key: Serde[Any] = spec.key
        self._value: Serde[Any] = spec.value
        self._plain = _plain_key(spec.key)

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield a record a row."""
        for key, value in changes:
            yield ChangelogRecord(self._plain(key), value, time_ms)

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Set or delete the key of each record."""
        put, decoded = self._spec.open(overlay).put, self._decoded
        return lambda record: put(*decoded(record))

    def _decoded(self, record: ChangelogRecord) -> tuple[Any, Any]:
        value = None if record.value is None else self._value.deserialize(record.value)
        return self._key.deserialize(record.key), value


class RowForm(PlainForm):
    """Key, and the bytes of its row: of stores whose rows are the library's own."""

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield a record a row; those of the index are left out."""
        for key, value in changes:
            if key[:1] == ROW:
                content = None if value is None else value[1:]
                yield ChangelogRecord(self._plain(key[1:]), content, time_ms)

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Set or delete the row of each record."""
        rows: Any = StoreRows.of(self._spec.open(overlay))  # of one kind or another
        rebuild, key = rows.rebuild, self._key.deserialize
        return lambda record: rebuild(key(record.key), record.value)


def stamped_record(key: bytes, value: bytes | None, time_ms: int) -> ChangelogRecord:
    """Return the record of a value that `StampedSerde` wrote, or of a deletion."""
    if value is None:
        return ChangelogRecord(key, None, time_ms)
    return ChangelogRecord(key, value[8:], _TIME.unpack_from(value)[0])


def key_and_numbers(form: struct.Struct, key: bytes) -> tuple[bytes, tuple[int, ...]]:
    """Return the key's bytes, and the numbers that follow them.

    Raises:
        DeserializationError: It is too short.
    """
    place = len(key) - form.size
    if place < 0:
        raise DeserializationError(f"expected {form.size} bytes after a windowed key, got {key!r}")
    return key[:place], form.unpack_from(key, place)


def values_before(before: Before, keys: Iterable[bytes]) -> dict[bytes, bytes | None]:
    """Return what rows held, by key."""
    wanted = list(keys)
    return dict(zip(wanted, before(wanted), strict=True))


def _plain_key(key: Serde[Any]) -> Callable[[bytes], bytes]:
    ordered = key.ordered
    if ordered == key:
        return bytes
    read, write = ordered.deserialize, key.serialize
    return lambda data: write(read(data))
