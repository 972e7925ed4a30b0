"""Decode a queue's columns into objects or tables; separates nulls and undecodable rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import DeserializationError
from kstreams.graph.nodes import Entry, SourceNode, serdes_of
from kstreams.quoting import kind_of, text_of
from kstreams.raw_batch import HEADERS_TYPE
from kstreams.serde.base import Serde
from kstreams.serde.carried import carried
from kstreams.serde.none import NONE
from kstreams.serde.objects import objects_of
from kstreams.task.records.queues import Queue

__all__ = (
    "BadRow",
    "Decoded",
    "Form",
    "decoded",
    "formed",
    "placed",
    "typed",
    "without_nulls",
)

Form = Literal["typed", "values", "keys"]
"""The form of a queue as a table: for batch processors, for column processors, and for column
processors that do not use values.
"""


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be decoded.

    Attributes:
        queue: The queue of the row.
        row: The number of the row in the queue.
        before: The number of good rows before it in the queue.
        error: The error.
    """

    queue: Queue
    row: int
    before: int
    error: DeserializationError


@dataclass(frozen=True)
class Decoded:
    """The decoded rows of a queue, and its undecodable rows in their order."""

    queue: Queue
    keys: list[Any]
    values: list[Any]
    bad: tuple[BadRow, ...] = ()


def without_nulls(entry: Entry, queue: Queue, drop: Callable[[str, int], None]) -> Queue:
    """Remove records with a null key or value, if the topic's policy is to drop them.

    Args:
        entry: The source, edge or loop of the queue.
        queue: The queue.
        drop: Called with `null-key` or `null-value` and the number of removed records.
    """
    if not isinstance(entry, SourceNode):
        return queue
    table, topic = queue.table, entry.topic
    for column, policy, serde in (
        ("key", topic.null_keys, topic.key),
        ("value", topic.nulls, topic.value),
    ):
        nulls = table.column(column).null_count
        if nulls and policy == "drop" and serde is not NONE:
            drop(f"null-{column}", nulls)
            table = table.filter(pc.is_valid(table.column(column)))
    return queue if table is queue.table else queue.with_table(table)


def decoded(entry: Entry, queue: Queue, *, values: bool = True) -> Decoded:
    """Decode keys and values: in bulk, or row by row if a row cannot be decoded.

    Args:
        entry: The source, edge or loop of the queue, which has the serdes.
        queue: The queue.
        values: Whether to decode the values; otherwise they stay bytes.
    """
    key, value = serdes_of(entry)
    columns = queue.table.column("key"), queue.table.column("value")
    try:
        keys = _objects(key, columns[0])
        if not values:
            return Decoded(queue, keys, objects_of(columns[1]))
        return Decoded(queue, keys, _objects(value, columns[1]))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # a serde is user code: row by row shows which row
        return _row_by_row(entry, queue, values=values)


def _objects(serde: Serde[Any], column: pa.ChunkedArray) -> list[Any]:
    """Decode a column chunk by chunk, because all chunks may exceed the size of an array."""
    if column.num_chunks == 1:
        return serde.deserialize_many(column.chunk(0))
    return [item for chunk in column.iterchunks() for item in serde.deserialize_many(chunk)]


def typed(entry: Entry, queue: Queue) -> pa.Table:
    """Return a queue as batch processors get it: key and value of the serdes' Arrow types."""
    key, value = serdes_of(entry)
    table = queue.table
    columns = {
        "key": key.to_arrow(table.column("key").combine_chunks()),
        "value": value.to_arrow(table.column("value").combine_chunks()),
        "timestamp": table.column("timestamp"),
        "partition": pa.repeat(pa.scalar(queue.partition, pa.int32()), table.num_rows),
        "offset": table.column("offset"),
        "headers": table.column("headers").cast(HEADERS_TYPE),
    }
    return pa.table(columns)


def formed(entry: Entry, queue: Queue, form: Form) -> pa.Table:
    """Return a queue's rows as a table, decoded as far as a batch processor needs.

    Args:
        entry: The source, edge or loop of the queue, which has the serdes.
        queue: The queue.
        form: `typed` decodes keys and values, as the function `typed`. Otherwise keys stay bytes:
            `values` keeps values as bytes or decodes them, see `carried`; `keys` replaces values by
            nulls.
    """
    if form == "typed":
        return typed(entry, queue)
    key, value = serdes_of(entry)
    table = queue.table
    keys = table.column("key").combine_chunks()
    carried(key, keys)  # an undecodable key fails here, in record order
    data = table.column("value").combine_chunks()
    columns = {
        "key": keys,
        "value": carried(value, data) if form == "values" else pa.nulls(len(data)),
        "timestamp": table.column("timestamp"),
        "headers": table.column("headers").cast(HEADERS_TYPE),
    }
    return pa.table(columns)


def placed(
    error: DeserializationError, entries: Mapping[str, Entry], queues: Sequence[Queue]
) -> DeserializationError:
    """Add the first undecodable record to the location of a column processor's error.

    An error that already has an offset or a store stays unchanged. Only queues whose policy is
    `fail` are searched; without an undecodable record, the error stays unchanged, too.
    """
    if error.where.offset is not None or error.where.store is not None:
        return error
    for queue in queues:
        if entries[queue.entry].on_error != "fail":
            continue
        for bad in _row_by_row(entries[queue.entry], queue, values=True).bad[:1]:
            key = queue.table.column("key")[bad.row].as_py()
            error.message = bad.error.message
            return error.at(key=key, **queue.place(bad.row))
    return error


def _row_by_row(entry: Entry, queue: Queue, *, values: bool) -> Decoded:
    key, value = serdes_of(entry)
    keys: list[Any] = []
    contents: list[Any] = []
    bad: list[BadRow] = []
    good = np.zeros(queue.table.num_rows, bool)
    rows = zip(
        objects_of(queue.table.column("key")), objects_of(queue.table.column("value")), strict=True
    )
    for row, (key_data, data) in enumerate(rows):
        try:
            found = _object(key, "key", key_data)
            content = _object(value, "value", data) if values else data
        except DeserializationError as exc:
            bad.append(BadRow(queue, row, len(keys), exc))
        else:
            good[row] = True
            keys.append(found)
            contents.append(content)
    kept = queue.with_table(queue.table.filter(pa.array(good)))
    return Decoded(kept, keys, contents, tuple(bad))


def _object(serde: Serde[Any], part: str, data: bytes | None) -> Any:  # noqa: ANN401
    if data is None:
        return None
    try:
        return serde.deserialize(data)
    except DeserializationError as exc:
        exc.message = f"{part}: {exc.message}"
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # a serde that is not as strict as its contract
        raise DeserializationError(f"{part}: {kind_of(exc)}: {text_of(exc)}") from exc
