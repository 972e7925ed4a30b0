"""Compact the changes of a batch to one per key: the first old and the last new value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kstreams.joins.change import Change
from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = ("by_key", "compacted")


def by_key(key: Serde[Any]) -> Callable[[Any], object]:
    """Return a function that maps each key to a hashable value, for comparing keys.

    Two such values are equal exactly if the encoded keys are equal.
    """
    return (lambda found: found) if key.hashes_by_bytes else key.ordered.serialize


def compacted(
    records: Sequence[Record[Any, Change[Any]]], key: Serde[Any]
) -> Iterator[Record[Any, Change[Any]]]:
    """Yield one change per key, without headers, in the order in which the keys first occurred.

    A key whose value is unchanged is omitted. Changes that are not the latest version of a row are
    ignored, because they do not affect its current value. The time of a change is the time of the
    key's last change.

    Args:
        records: Changes of a table.
        key: Serde of the keys.
    """
    known = by_key(key)
    first: dict[object, Any] = {}
    last: dict[object, Record[Any, Change[Any]]] = {}
    for record in records:
        if record.value.latest:
            own = known(record.key)
            first.setdefault(own, record.value.old)
            last[own] = record
    for own, old in first.items():
        record = last[own]
        if record.value.new != old:
            yield Record(record.key, Change(record.value.new, old), record.timestamp)
