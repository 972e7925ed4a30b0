"""Keep a record as it is, though its maker may go on to change its value."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kstreams.record import Record

__all__ = ("frozen",)

_IMMUTABLE = frozenset({str, bytes, int, float, bool, type(None)})


def frozen(record: Record[Any, Any]) -> Record[Any, Any]:
    """Return the record, or a deep copy where key or value could be changed."""
    if type(record.key) in _IMMUTABLE and type(record.value) in _IMMUTABLE:
        return record
    return Record(deepcopy(record.key), deepcopy(record.value), record.timestamp, record.headers)
