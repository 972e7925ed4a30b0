"""A consumer whose messages become Arrow's columns in compiled loops, without Python objects."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams.raw_batch import HEADERS_TYPE, INPUT_SCHEMA, headers_array
from kstreams.serde.objects import objects_of
from kstreams_kafka.client_log import ClientLog
from kstreams_kafka.librdkafka import KafkaError, KafkaException
from kstreams_kafka.native.client import CONSUMER, NativeClient
from kstreams_kafka.native.library import KernelColumns, KernelSizes, Library
from kstreams_kafka.native.message import NativeMessage
from kstreams_kafka.table_consumer import Place, ReadError, TableConsumer, Taken

__all__ = ("NativeTableConsumer",)

_MOST = 20_000
"""The maximum number of messages that one call takes."""

_MOST_BYTES = 1 << 30
"""The maximum bytes of a column of one table: half of the range of Arrow's offsets."""


class NativeTableConsumer(TableConsumer):
    """Implements `TableConsumer` with the compiled loops.

    Args:
        library: The compiled loops and librdkafka.
        options: All options of the consumer.
        client_errors: Receives the client's own errors.
        log: Receives the client's log lines.

    Raises:
        KafkaException: librdkafka does not know an option or its value.
    """

    def __init__(
        self,
        library: Library,
        options: Mapping[str, str],
        *,
        client_errors: deque[KafkaError],
        log: ClientLog,
    ) -> None:
        self._library = library
        self._rk = library.rk
        self._client = NativeClient(
            library, CONSUMER, options, client_errors=client_errors, log=log
        )
        self._rk.poll_set_consumer(self._client.address)
        self._queue: int = self._rk.queue_get_consumer(self._client.address)
        self._got, self._failed = (ctypes.c_void_p * _MOST)(), (ctypes.c_void_p * _MOST)()
        # Held, so that an address still means the topic once its message is given back.
        self._topics: dict[int, str] = {}

    @override
    def assign(self, starts: Sequence[tuple[str, int, int]]) -> None:
        for topic in {topic for topic, _, _ in starts}.difference(self._topics.values()):
            self._topics[self._rk.topic_new(self._client.address, topic.encode(), None)] = topic
        self._each(self._rk.assign, starts)

    @override
    def pause(self, places: Sequence[Place]) -> None:
        self._each(self._rk.pause_partitions, [(*place, 0) for place in places])

    @override
    def resume(self, places: Sequence[Place]) -> None:
        self._each(self._rk.resume_partitions, [(*place, 0) for place in places])

    @override
    def take(self, most: int, timeout_s: float) -> Taken:
        failed = ctypes.c_int64()
        count: int = self._library.take(
            self._library.functions,
            self._queue,
            int(timeout_s * 1000),
            min(most, _MOST),
            self._got,
            self._failed,
            ctypes.byref(failed),
        )
        self._client.pass_logs_on()
        if count < 0:
            raise KafkaException(
                KafkaError(KafkaError._FAIL, "librdkafka cannot return messages of the consumer")
            )
        errors = [self._error(address) for address in self._failed[: failed.value] if address]
        return Taken([run for table in self._tables(count) for run in self._runs(*table)], errors)

    @override
    def close(self) -> None:
        for topic in self._topics:
            self._rk.topic_destroy(topic)
        self._rk.queue_destroy(self._queue)
        self._rk.consumer_close(self._client.address)
        self._client.close()

    def _each(self, call: Any, places: Sequence[tuple[str, int, int]]) -> None:  # noqa: ANN401  # a foreign function
        rk = self._rk
        listed = rk.topic_partition_list_new(len(places))
        for topic, partition, offset in places:
            rk.topic_partition_list_add(listed, topic.encode(), partition)
            rk.topic_partition_list_set_offset(listed, topic.encode(), partition, offset)
        code: int = call(self._client.address, listed)
        rk.topic_partition_list_destroy(listed)
        if code:
            raise KafkaException(KafkaError(code))

    def _tables(self, count: int) -> Iterator[tuple[pa.Array, pa.Array, pa.Table]]:
        """Yield the topics, partitions and records of the fetched messages; free the messages."""
        library, sizes, done = self._library, KernelSizes(), 0
        size = ctypes.sizeof(ctypes.c_void_p)
        try:
            while done < count:
                got = ctypes.addressof(self._got) + done * size
                library.measure(
                    library.functions, got, count - done, _MOST_BYTES, ctypes.byref(sizes)
                )
                columns, made = _columns(sizes)
                library.fill(library.functions, got, sizes.rows, ctypes.byref(columns))
                done += sizes.rows
                yield made()
        finally:
            if done < count:
                got = ctypes.addressof(self._got) + done * size
                library.drop(library.functions, got, count - done)

    def _runs(
        self, topics: pa.Array, partitions: pa.Array, table: pa.Table
    ) -> Iterator[tuple[Place, pa.Table]]:
        """Divide records into runs of consecutive records of one partition.

        Args:
            topics: The topic of each record, as a key of `self._topics`.
            partitions: The partition of each record.
            table: The records.

        Yields:
            Topic and partition, and the records of the run.
        """
        topic, partition = topics.to_numpy(), partitions.to_numpy()
        changed = (partition[1:] != partition[:-1]) | (topic[1:] != topic[:-1])
        starts = [0, *(np.flatnonzero(changed) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], len(topic)], strict=True):
            place = self._topics[int(topic[start])], int(partition[start])
            yield place, table.slice(start, end - start)

    def _error(self, address: int) -> ReadError:
        """Return the error of a message, and free the message."""
        message = NativeMessage.from_address(address)
        place = message.topic_name(self._rk), message.partition
        found = ReadError(message.error(has_text=True), place, message.offset)
        self._rk.message_destroy(address)
        return found


def _columns(sizes: KernelSizes) -> tuple[KernelColumns, Any]:
    """Allocate buffers for a number of records.

    Returns:
        The addresses of the buffers, and a function that creates topics, partitions and a table
        from the filled buffers.
    """
    rows, headed = sizes.rows, sizes.headers > 0
    new = pa.allocate_buffer
    offset, timestamp, topic, partition = new(8 * rows), new(8 * rows), new(8 * rows), new(4 * rows)
    key = new(4 * rows + 4), new(sizes.key_bytes), _bits(rows)
    value = new(4 * rows + 4), new(sizes.value_bytes), _bits(rows)
    lists: list[pa.Buffer] = []
    if headed:
        pairs = sizes.headers
        lists = [new(4 * rows + 4), _bits(rows), new(4 * pairs + 4), new(sizes.name_bytes)]
        lists += [new(4 * pairs + 4), new(sizes.header_bytes), _bits(pairs)]
    given = (offset, timestamp, topic, partition, *key, *value, *lists)
    columns = KernelColumns(*(buffer.address for buffer in given))

    def made() -> tuple[pa.Array, pa.Array, pa.Table]:
        of = pa.Array.from_buffers
        table = pa.Table.from_arrays(
            [
                of(pa.int64(), rows, [None, offset]),
                of(pa.int64(), rows, [None, timestamp]),
                _binary(rows, key, sizes.null_keys),
                _binary(rows, value, sizes.null_values),
                _headers(rows, sizes.headers, lists) if headed else pa.nulls(rows, HEADERS_TYPE),
            ],
            schema=INPUT_SCHEMA,
        )
        return (
            of(pa.int64(), rows, [None, topic]),
            of(pa.int32(), rows, [None, partition]),
            table,
        )

    return columns, made


def _bits(count: int) -> pa.Buffer:
    return pa.py_buffer(np.zeros((count + 7) // 8, np.uint8))


def _binary(count: int, buffers: Sequence[pa.Buffer], nulls: int) -> pa.Array:
    at, data, valid = buffers
    return pa.Array.from_buffers(pa.binary(), count, [valid if nulls else None, at, data], nulls)


def _headers(rows: int, count: int, buffers: Sequence[pa.Buffer]) -> pa.Array:
    at, headed, name_at, name, value_at, value, valid = buffers
    of = pa.Array.from_buffers
    names = of(pa.string(), count, [None, name_at, name])
    values = of(pa.binary(), count, [valid, value_at, value])
    pairs = of(HEADERS_TYPE.value_type, count, [None], children=[names, values])
    found = of(HEADERS_TYPE, rows, [headed, at], children=[pairs])
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        return _with_bad_names(found, objects_of(names.view(pa.binary())))
    return found


def _with_bad_names(headers: pa.Array, names: Sequence[bytes]) -> pa.Array:
    """Return a column of headers, without the headers of records that have a name outside of UTF-8.

    Such a record gets one header without a name, whose value is that name.

    Args:
        headers: The headers of each record.
        names: The names of all headers, as bytes.
    """
    values: list[bytes | None] = objects_of(headers.values.field(1))
    ends = headers.offsets.to_pylist()
    rows: list[list[tuple[str | None, bytes | None]]] = []
    for start, end in pairwise(ends):
        pairs: list[tuple[str | None, bytes | None]] = []
        for name, value in zip(names[start:end], values[start:end], strict=True):
            try:
                pairs.append((name.decode(), value))
            except UnicodeDecodeError:
                pairs = [(None, name)]
                break
        rows.append(pairs)
    return headers_array(rows, check=False)
