"""A batch of raw records: its columns, its headers both ways, and how it is divided.

A raw record is what a topic holds: key and value in bytes or null, a time in milliseconds since
the epoch, and headers. Those who read and write topics, embedded or on Kafka, and the tasks between
them, have batches of these columns. Read `INPUT_SCHEMA` and `OUTPUT_SCHEMA` first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.ids import TopicPartition
from kstreams.partitioner import Partitioner, targets
from kstreams.record import Headers
from kstreams.serde.objects import objects_of

__all__ = (
    "HEADERS_TYPE",
    "HOPS",
    "INPUT_SCHEMA",
    "NO_LIMIT",
    "ORIGIN",
    "OUTPUT_SCHEMA",
    "STORED_SCHEMA",
    "UNREADABLE",
    "RawHeaders",
    "TooManyBytesError",
    "by_partition",
    "by_topic",
    "check_headers",
    "header_pairs",
    "headers_array",
    "headers_of",
    "named_headers",
    "parted",
)

# --------------------------------------------------------------------------- columns


def _headers_type(*, named: bool) -> pa.DataType:
    name = pa.field("key", pa.string(), nullable=not named)
    return pa.list_(pa.struct([name, pa.field("value", pa.binary())]))


HEADERS_TYPE = _headers_type(named=False)
"""Arrow type of a headers column; null is no headers. A header without a name stands for headers
that cannot be read: its value is the name that is not UTF-8."""

INPUT_SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS_TYPE),
    ]
)
"""Columns of what is read of one partition: rows in the order of offsets, which may have gaps.

`key`, `value` and `headers` may be null.
"""

OUTPUT_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("timestamp", pa.int64()),
        ("headers", HEADERS_TYPE),
    ]
)
"""Columns of what is written: the output of a sink or an edge, in the order of forwarding."""

HOPS = "hops"
"""One column more of what goes round in loops, int32: how often the records, or those that they
come of, went round. Where it is missing: never."""

UNREADABLE = "unreadable"
"""One column more of some input: why a row's key or value cannot be read; null where they can."""

ORIGIN = "origin"
"""One column more of input from files and the like, a dictionary of text: the offset of the first
record of what a row is from, a colon, and its name."""

STORED_SCHEMA = pa.schema(
    [
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", _headers_type(named=True)),
    ]
)
"""Columns of a segment of an embedded topic, as its file has them."""

# --------------------------------------------------------------------------- headers

RawHeaders = Sequence[tuple["str | None", "bytes | None"]]
"""Headers that may have one without a name, for what cannot be read."""


def headers_of(column: pa.ChunkedArray | pa.Array) -> list[Headers]:
    """Turn a headers column into tuples; null is ()."""
    if isinstance(column, pa.ChunkedArray):
        return [item for chunk in column.iterchunks() for item in headers_of(chunk)]
    if column.null_count == len(column):
        return [()] * len(column)
    names, values = map(objects_of, column.flatten().flatten())
    pairs = list(zip(names, values, strict=True))
    lengths = pc.list_value_length(column).fill_null(0)
    ends = np.cumsum(lengths.to_numpy(zero_copy_only=False)).tolist()
    return [tuple(pairs[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def headers_array(headers: Sequence[RawHeaders | None], *, check: bool = True) -> pa.Array:
    """Turn headers of records into a column; None and () are null.

    Args:
        headers: Those of each record.
        check: Whether to refuse what `check_headers` does; Arrow takes bytes for text.

    Raises:
        TypeError: A header is no pair of text and bytes or None.
        UnicodeEncodeError: A name has a lone surrogate.
    """
    if not any(headers):
        return pa.nulls(len(headers), HEADERS_TYPE)
    if check:
        for item in headers:
            if item:
                check_headers(item)
    return pa.array([item or None for item in headers], HEADERS_TYPE)


def check_headers(headers: RawHeaders) -> None:
    """Refuse what Arrow would take for text or bytes, and names that UTF-8 does not have.

    Raises:
        TypeError: A header is no pair of text and bytes or None.
        UnicodeEncodeError: A name has a lone surrogate.
    """
    for name, value in headers:
        if type(name) is not str or (value is not None and type(value) is not bytes):
            raise TypeError(f"a header is a pair of text and bytes or None, not {(name, value)!r}")
        if not name.isascii():
            name.encode()


def header_pairs(
    column: pa.ChunkedArray | pa.Array,
) -> tuple[npt.NDArray[np.int64], pa.StructArray]:
    """Return the row of each header of a column, and the headers: structs of key and value."""
    lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pc.list_parent_indices(lists).to_numpy(), lists.flatten()


def named_headers(headers: RawHeaders) -> Headers:
    """Return the headers that have a name; those without stand for what cannot be read."""
    return tuple((name, value) for name, value in headers if name is not None)


# --------------------------------------------------------------------------- division


def by_topic(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Divide output by topic, keeping the order in each."""
    topics = table.column("topic").unique().to_pylist()
    for topic in topics:
        same = len(topics) == 1
        yield topic, table if same else table.filter(pc.equal(table.column("topic"), topic))


def by_partition(
    table: pa.Table, partitioner: Partitioner, partitions: int, *, first: int = 0
) -> Iterator[tuple[int, pa.Table]]:
    """Divide the rows of one topic by partition, keeping the order in each.

    Args:
        table: The rows; those of null key take turns.
        partitioner: Of the sink or the edge.
        partitions: How many the topic has.
        first: How many rows of the topic came before.
    """
    keys = table.column("key").combine_chunks()
    return parted(table, targets(partitioner, keys, partitions, first=first))


def parted(table: pa.Table, numbers: npt.NDArray[np.int32]) -> Iterator[tuple[int, pa.Table]]:
    """Divide rows by a number that each has, keeping the order; yield the numbers in order.

    Costs the same however many numbers there are.
    """
    if not len(numbers):
        return
    narrow: npt.NDArray[Any] = numbers
    if numbers.max() < 1 << 16:
        narrow = numbers.astype(np.uint16)  # sorts faster
    order = np.argsort(narrow, kind="stable")
    placed = numbers[order]
    cuts = [0, *(np.flatnonzero(np.diff(placed)) + 1).tolist(), len(placed)]
    if len(cuts) > 2:  # several
        table = table.take(pa.array(order))
    for begin, end in pairwise(cuts):
        yield int(placed[begin]), table.slice(begin, end - begin)


# --------------------------------------------------------------------------- size

NO_LIMIT = sys.maxsize
"""More bytes than there can be."""


class TooManyBytesError(Exception):
    """What is to be read has more bytes than a batch may have; never leaves the worker.

    Attributes:
        sizes: Of each partition, how many offsets were read before, and their bytes.
    """

    def __init__(self, sizes: Mapping[TopicPartition, tuple[int, int]]) -> None:
        super().__init__(sizes)
        self.sizes = sizes
