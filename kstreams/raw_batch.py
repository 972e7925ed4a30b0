"""Batches of raw records: their columns, conversions of headers, and division by partition.

A raw record is a record of a topic: nullable bytes for key and value, a time in milliseconds since
the epoch, and headers. Readers and writers of topics, embedded or on Kafka, and tasks exchange
batches of these columns. Read `INPUT_SCHEMA` and `OUTPUT_SCHEMA` first.
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
    "ID_HEADER",
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
"""The Arrow type of a headers column; null means no headers. A header without a name marks
unreadable headers: its value is the name that is not UTF-8.
"""

ID_HEADER = "kstreams-id"
"""The name of the header with a record's id, which is the same on every copy of the record."""

INPUT_SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS_TYPE),
    ]
)
"""The columns of the input of one partition: rows ordered by offset; offsets may have gaps.

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
"""The columns of the output of a sink or an edge, in the order of forwarding."""

HOPS = "hops"
"""An additional int32 column for loops: the number of passes of each record or its origin. Without
the column, the number is zero.
"""

UNREADABLE = "unreadable"
"""An optional column of input: why a row's key or value cannot be read; null if both can."""

ORIGIN = "origin"
"""An additional column for input from files, a dictionary of text: the offset of the first record
of the file, a colon, and the name of the file.
"""

STORED_SCHEMA = pa.schema(
    [
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", _headers_type(named=True)),
    ]
)
"""The columns of a segment file of an embedded topic."""

# --------------------------------------------------------------------------- headers

RawHeaders = Sequence[tuple["str | None", "bytes | None"]]
"""Headers of a record; a header without a name marks unreadable headers."""


def headers_of(column: pa.ChunkedArray | pa.Array) -> list[Headers]:
    """Convert a headers column to one tuple per row; null becomes ()."""
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
    """Convert headers of records to a column; None and () become null.

    Args:
        headers: The headers of each record.
        check: Whether to validate as `check_headers` does; Arrow accepts bytes as text.

    Raises:
        TypeError: A header is not a pair of text and bytes or None.
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
    """Reject headers that Arrow would convert silently, and names that UTF-8 cannot encode.

    Raises:
        TypeError: A header is not a pair of text and bytes or None.
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
    """Return the headers with a name; a header without a name marks unreadable headers."""
    return tuple((name, value) for name, value in headers if name is not None)


# --------------------------------------------------------------------------- division


def by_topic(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Divide output by topic and keep the order of rows within each topic."""
    topics = table.column("topic").unique().to_pylist()
    for topic in topics:
        same = len(topics) == 1
        yield topic, table if same else table.filter(pc.equal(table.column("topic"), topic))


def by_partition(
    table: pa.Table, partitioner: Partitioner, partitions: int, *, first: int = 0
) -> Iterator[tuple[int, pa.Table]]:
    """Divide the rows of one topic by partition and keep the order of each partition.

    Args:
        table: The rows; rows with null keys are distributed round-robin.
        partitioner: The partitioner of the sink or the edge.
        partitions: The number of partitions of the topic.
        first: The number of earlier rows of the topic.
    """
    keys = table.column("key").combine_chunks()
    return parted(table, targets(partitioner, keys, partitions, first=first))


def parted(table: pa.Table, numbers: npt.NDArray[np.int32]) -> Iterator[tuple[int, pa.Table]]:
    """Divide a table by a number for each row; yield each distinct number with its rows.

    The numbers are yielded in ascending order. Rows with equal numbers keep their order. The cost
    does not depend on how many different numbers there are. Without rows, nothing is yielded.

    Args:
        table: The rows.
        numbers: A number for each row, such as its partition.
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
"""A maximum of bytes that is never reached."""


class TooManyBytesError(Exception):
    """The input exceeds the maximum bytes of a batch. The error never leaves the worker.

    Attributes:
        sizes: For each partition, the number of offsets that were read, and their bytes.
    """

    def __init__(self, sizes: Mapping[TopicPartition, tuple[int, int]]) -> None:
        super().__init__(sizes)
        self.sizes = sizes
