"""Of a batch's results, the last one of each key and window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = ("last_of_each",)


def last_of_each(
    key: Serde[Any], forward: Callable[[Record[Any, Any]], None]
) -> Callable[[Sequence[Record[Any, Any]]], None]:
    """Return what forwards, of windowed results in order, the last of each key and window.

    Deleted sessions come first, then results by start, key and end. They carry no headers:
    a result of a batch is no single record's. A session that began and was swallowed
    within the batch is left out.

    Args:
        key: Serde of the keys; tells keys apart that do not hash.
        forward: Takes the results.
    """
    by_object, encode = key.hashes_by_bytes, key.ordered.serialize

    def place(record: Record[Any, Any]) -> tuple[bool, int, bytes, int]:
        window = record.key
        gone = record.value is None
        return not gone, window.start_ms, encode(window.key), window.end_ms

    def release(records: Sequence[Record[Any, Any]]) -> None:
        last: dict[Any, Record[Any, Any]] = {}
        made: set[Any] = set()
        for record in records:
            window = record.key
            own = window.key if by_object else encode(window.key)
            handle = own, window.start_ms, window.end_ms
            if handle not in last and record.value is not None:
                made.add(handle)
            last[handle] = record
        kept = [
            record
            for handle, record in last.items()
            if record.value is not None or handle not in made
        ]
        for record in sorted(kept, key=place):
            forward(Record(record.key, record.value, record.timestamp))

    return release
