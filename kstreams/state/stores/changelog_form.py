"""The changelog formats of stores: the contract, and the formats that several kinds share.

This module depends on stores, but neither on topics nor on tasks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from typing_extensions import override

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
"""The settings of a topic that retains the last record of each key."""

Before = Callable[[Sequence[bytes]], "list[bytes | None]"]
"""Returns the encoded values that keys (encoded) had before the batch; None for missing keys."""

_TIME = struct.Struct(">q")


class ChangelogRecord(NamedTuple):
    """A changelog record, encoded by the store's serdes; the timestamp is in ms."""

    key: bytes
    value: bytes | None
    timestamp: int


class ChangelogForm(Protocol):
    """Converts a store's rows to changelog records and back."""

    @property
    def config(self) -> Mapping[str, str]:
        """Return the settings of the changelog topic, by Kafka's names."""
        ...

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield the records of a batch's changes, in a fixed order.

        Args:
            changes: The changed rows, in ascending order of keys.
            before: Returns the values before the batch; all None if the whole store is written.
            time_ms: The timestamp of records whose row has no time.
        """
        ...

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Return a function that applies a record to the store in an overlay.

        The function raises `DeserializationError` if the record does not belong to this store.
        """
        ...


class PlainForm:
    """The changelog format with the store's keys and values, and the time of the batch.

    This is the base of the other formats. `_plain` converts a store's ordered key bytes to the key
    bytes of topics, and `_decoded` decodes the key and value of a record.

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
        """Yield one changelog record for each changed row."""
        for key, value in changes:
            yield ChangelogRecord(self._plain(key), value, time_ms)

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Return a function that applies a record: it sets the key's value, or deletes the key."""
        put, decoded = self._spec.open(overlay).put, self._decoded
        return lambda record: put(*decoded(record))

    def _decoded(self, record: ChangelogRecord) -> tuple[Any, Any]:
        value = None if record.value is None else self._value.deserialize(record.value)
        return self._key.deserialize(record.key), value


class RowForm(PlainForm):
    """The changelog format of stores with an internal row format: the key and the encoded row."""

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield one changelog record for each changed row; skip index entries."""
        for key, value in changes:
            if key[:1] == ROW:
                content = None if value is None else value[1:]
                yield ChangelogRecord(self._plain(key[1:]), content, time_ms)

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        rows: Any = StoreRows.of(self._spec.open(overlay))  # of one kind or another
        rebuild, key = rows.rebuild, self._key.deserialize
        return lambda record: rebuild(key(record.key), record.value)


def stamped_record(key: bytes, value: bytes | None, time_ms: int) -> ChangelogRecord:
    """Return the changelog record of a value encoded by `StampedSerde`, or of a deletion."""
    if value is None:
        return ChangelogRecord(key, None, time_ms)
    return ChangelogRecord(key, value[8:], _TIME.unpack_from(value)[0])


def key_and_numbers(form: struct.Struct, key: bytes) -> tuple[bytes, tuple[int, ...]]:
    """Split a changelog record's key; return the key's bytes, and the numbers after these bytes.

    `form` is the binary layout of the numbers.

    Raises:
        DeserializationError: `key` is shorter than the numbers.
    """
    place = len(key) - form.size
    if place < 0:
        raise DeserializationError(
            f"a windowed key is cut short: expected {form.size} bytes or more, got {key!r}"
        )
    return key[:place], form.unpack_from(key, place)


def values_before(before: Before, keys: Iterable[bytes]) -> dict[bytes, bytes | None]:
    """Return the encoded values that keys had before the batch, by encoded key."""
    wanted = list(keys)
    return dict(zip(wanted, before(wanted), strict=True))


def _plain_key(key: Serde[Any]) -> Callable[[bytes], bytes]:
    ordered = key.ordered
    if ordered == key:
        return bytes
    read, write = ordered.deserialize, key.serialize
    return lambda data: write(read(data))
