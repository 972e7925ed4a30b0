"""A producer that takes Arrow's columns in a compiled loop, without Python objects."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams.raw_batch import ID_HEADER
from kstreams_kafka.client_log import ClientLog
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.librdkafka import KafkaError, KafkaException
from kstreams_kafka.native.client import PRODUCER, NativeClient
from kstreams_kafka.native.library import KernelBinary, KernelOutgoing, Library
from kstreams_kafka.native.message import NativeMessage
from kstreams_kafka.native.transactions import NativeTransactions
from kstreams_kafka.outgoing import Outgoing, TableProducer
from kstreams_kafka.producing import (
    BATCH_BYTES,
    BULK,
    DEFAULTS,
    FOR_OTHERS,
    Failed,
    ProducerErrors,
    flush_waits_s,
)

__all__ = ("NativeBulkProducer",)

_POLL_MS = 50
_LAST_FLUSH_MS = 2_000
_QUEUE_AND_FLIGHT = 0x1 | 0x2
_REPORT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class NativeBulkProducer(TableProducer):
    """Implements `TableProducer` with the compiled loops.

    Args:
        library: The compiled loops and librdkafka.
        options: The producer's options; they override the defaults.
        batch_bytes: The limit of `BulkProducer`.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(
        self, library: Library, options: ClientOptions, *, batch_bytes: int | None = None
    ) -> None:
        self._library = library
        self._rk = rk = library.rk
        self._errors = ProducerErrors(options)
        failed: list[Failed] = []

        def report(_: int, address: int, __: int) -> None:
            message = NativeMessage.from_address(address)
            if not failed or failed[0][0].code() == FOR_OTHERS:
                failed[:] = [
                    (
                        message.error(),
                        message.topic_name(rk),
                        message.partition,
                        message.key_bytes(),
                    )
                ]

        self._failed = failed
        size = min(batch_bytes or BATCH_BYTES, BATCH_BYTES)
        given = ClientOptions({**DEFAULTS, **BULK, "batch.size": size, **options})
        try:
            self._client = NativeClient(
                library,
                PRODUCER,
                given,
                client_errors=self._errors.client_errors,
                log=ClientLog(options),
                on_delivery=_REPORT(report),
            )
        except KafkaException as exc:
            raise self._errors.refusal(exc) from None  # the cause could show a secret
        self._topics: dict[str, int] = {}

    @override
    def transactions(self) -> NativeTransactions:
        return NativeTransactions(self._rk, self._client.address)

    @override
    def send(self, piece: Outgoing) -> None:
        table = piece.table
        prefix = (piece.id_prefix or "").encode()
        if len(prefix) > self._library.longest_prefix:
            raise ValueError(
                f"the prefix of record ids has {len(prefix)} bytes, expected at most "
                f"{self._library.longest_prefix}"
            )
        topics = table.column("topic").combine_chunks().dictionary_encode()
        names: list[str] = topics.dictionary.to_pylist()
        handles = (ctypes.c_void_p * len(names))(*map(self._topic, names))
        which = np.ascontiguousarray(topics.indices.to_numpy(), np.int32)
        partitions = np.ascontiguousarray(piece.partitions, np.int32)
        times = np.ascontiguousarray(table.column("timestamp").to_numpy(), np.int64)
        key, value = (table.column(name).combine_chunks() for name in ("key", "value"))
        headers = table.column("headers").combine_chunks()
        rows = KernelOutgoing(
            topics=ctypes.addressof(handles),
            topic=which.ctypes.data,
            partition=partitions.ctypes.data,
            timestamp=times.ctypes.data,
            key=_binary(key),
            value=_binary(value),
            id_name=ID_HEADER.encode(),
            id_prefix=prefix or None,
            id_prefix_len=len(prefix),
            id_first=piece.first,
        )
        if headers.null_count < len(headers):
            headers = headers.fill_null([]) if headers.null_count else headers
            pairs = headers.values
            header_names, header_values = pairs.field(0), pairs.field(1)
            rows.header_at = headers.buffers()[1].address + 4 * headers.offset
            rows.name, rows.header_value = _binary(header_names), _binary(header_values)
        row, end, code = 0, table.num_rows, ctypes.c_int32()
        while row < end:
            row = self._library.produce(
                self._library.functions,
                self._client.address,
                ctypes.byref(rows),
                row,
                end,
                ctypes.byref(code),
            )
            # Room comes: records that stay too long in the queue fail.
            full = code.value == KafkaError._QUEUE_FULL
            self._poll(_POLL_MS if full else 0)
            if code.value and not full:
                where = names[which[row]], int(partitions[row]), key[row].as_py()
                raise self._errors.failure(KafkaError(code.value), *where)

    @override
    def flush(self) -> None:
        waits = flush_waits_s()
        while self._rk.outq_len(self._client.address):
            self._rk.flush(self._client.address, round(1000 * next(waits)))
            self._check()
        self._poll(0)

    @override
    def abandon(self) -> None:
        self._rk.purge(self._client.address, _QUEUE_AND_FLIGHT)
        self._rk.flush(self._client.address, _LAST_FLUSH_MS)
        for handle in self._topics.values():
            self._rk.topic_destroy(handle)
        self._client.close()

    def _topic(self, name: str) -> int:
        found = self._topics.get(name)
        if found is None:
            found = self._rk.topic_new(self._client.address, name.encode(), None)
            if not found:
                raise self._errors.failure(KafkaError(KafkaError._INVALID_ARG), name, None, None)
            self._topics[name] = found
        return found

    def _poll(self, timeout_ms: int) -> None:
        self._rk.poll(self._client.address, timeout_ms)
        self._client.pass_logs_on()
        self._check()

    def _check(self) -> None:
        if self._failed:
            raise self._errors.failure(*self._failed[0])


def _binary(column: pa.Array) -> KernelBinary:
    valid, at, data = column.buffers()
    return KernelBinary(
        at.address + 4 * column.offset,
        _address(data),
        _address(valid) if column.null_count else None,
        column.offset,
    )


def _address(buffer: Any) -> int | None:  # noqa: ANN401  # pyarrow is untyped
    return buffer.address if buffer is not None and buffer.size else None
