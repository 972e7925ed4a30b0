"""Collect the records of one sink or repartition edge, and encode them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import repeat
from operator import index
from pathlib import Path
from typing import Any
from weakref import ref

import pyarrow as pa

from kstreams.errors import KStreamsError, SerdeError, SerializationError
from kstreams.expressions.rows import without_objects
from kstreams.framing import Columns, Frames, Framing, RawParts
from kstreams.graph.nodes import RepartitionNode, SinkNode
from kstreams.pieces import PIECE_BYTES, pieces
from kstreams.processors.on_error import DeadLetter, dead_letter_topic
from kstreams.quoting import kind_of, text_of
from kstreams.raw_batch import HEADERS_TYPE, OUTPUT_SCHEMA, check_headers, headers_array
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.carried import stays_bytes
from kstreams.serde.encoded_type import encoded_by
from kstreams.serde.framed import frame_of
from kstreams.serde.object_columns import refers_to_objects
from kstreams.serde.objects import objects_of
from kstreams.task.output.sink_checks import Outlet
from kstreams.task.output.spill import OutputRows
from kstreams.task.records.columns import whole
from kstreams.topic import Topic, TopicChoice

__all__ = ("Collector",)

_TIMES = range(-(1 << 63), 1 << 63)
_HELD_BYTES = PIECE_BYTES
"""The maximum bytes of output in memory."""
_AT_FIRST = 1_024
"""The number of records to encode at once before their size is known."""
_AT_MOST = 1 << 16


class Collector:
    """Collects the records of one sink or edge.

    Taking a record costs little more than `list.append`. Records are encoded in bulk, when there
    are many or when the batch ends. Encoded records are kept in memory up to some MiB, and
    otherwise in a file, because the output of one record may exceed the memory.

    Records are encoded immediately (`eager`) if bulk encoding would be too late: for mutable
    objects, for a topic that is chosen for each record, and for sources that skip failed records,
    so that a failure belongs to its record.
    """

    def __init__(
        self,
        node: str,
        topic: str | Callable[[Record[Any, Any]], str],
        key: Serde[Any],
        value: Serde[Any],
        *,
        framing: Framing | None = None,
        eager: bool = False,
        outlet: Outlet | None = None,
        folder: Path | None = None,
    ) -> None:
        self._node = node
        self._framing = framing
        self._outlet = outlet
        self._topic = topic
        self._key = key
        self._value = value
        self._records: list[Record[Any, Any]] = []
        self._topics: list[str] = []
        self._rows = OutputRows(folder, most=_HELD_BYTES)
        self._failure: BaseException | None = None
        self._quota = self._left = _AT_FIRST
        self._eager = eager or callable(topic) or not (key.immutable and value.immutable)
        self.take: Callable[[Record[Any, Any]], None] = (
            self._take_encoded if self._eager else _gathering(ref(self), self._records.append)
        )

    @classmethod
    def of_sink(
        cls, node: SinkNode, outlet: Outlet, *, eager: bool, folder: Path | None = None
    ) -> Collector:
        """Return the collector of a sink that writes to topics."""
        given: dict[str, Any] = {"outlet": outlet, "folder": folder}
        match node.target:
            case Topic(name=name, key=key, value=value, framing=framing):
                return cls(node.name, name, key, value, framing=framing, eager=eager, **given)
            case TopicChoice(choose=choose, key=key, value=value, framing=framing):
                return cls(node.name, choose, key, value, framing=framing, **given)
            case _:
                raise TypeError(f"sink {node.name!r} has no topic")

    @classmethod
    def of_edge(
        cls, node: RepartitionNode, *, eager: bool, folder: Path | None = None
    ) -> Collector:
        """Return the collector of a repartition edge."""
        return cls(node.name, node.name, node.key, node.value, eager=eager, folder=folder)

    @classmethod
    def of_dead_letters(cls, policy: DeadLetter, *, folder: Path | None = None) -> Collector:
        """Return the collector of a dead-letter topic."""
        topic = dead_letter_topic(policy)
        return cls(policy.topic, topic.name, topic.key, topic.value, folder=folder)

    def mark(self) -> int:
        """Return the number of taken records, the argument of `cut`."""
        return self._rows.count + len(self._records)

    def cut(self, mark: int) -> None:
        """Drop the records that were taken after a call of `mark`.

        Args:
            mark: The result of the call.

        Raises:
            OSError: The file with encoded rows cannot be read.
        """
        unencoded = max(mark - self._rows.count, 0)
        del self._records[unencoded:]
        del self._topics[unencoded:]
        self._rows.cut(mark)

    def take_table(self, table: pa.Table) -> None:
        """Take a table of a batch processor.

        Raises:
            SerializationError: The sink cannot encode the table.
        """
        self._flush()
        if callable(self._topic):
            raise SerializationError(
                "a table was forwarded to a sink that chooses the topic of each record",
                hint="forward records to this sink, or use one sink per topic.",
            ).at(node=self._node)
        rows = table
        try:
            for rows in pieces(whole(table)):
                key = self._written(self._key, rows.column("key").combine_chunks())
                value = self._written(self._value, rows.column("value").combine_chunks())
                headers = rows.column("headers").combine_chunks()
                key, value, headers = self._framed(key, value, headers)
                self._append(self._topic, [key, value, rows.column("timestamp"), headers])
        except (SerdeError, pa.ArrowException, KeyError, ValueError, TypeError) as exc:
            self._check_rows(rows)
            raise SerializationError(
                f"the forwarded table cannot be encoded: {text_of(exc)}",
                hint="the table needs columns key, value and timestamp of the serdes' Arrow types.",
            ).at(node=self._node, target=self._topic) from exc

    def _written(self, serde: Serde[Any], column: pa.Array) -> pa.Array:
        """Encode a column. An edge passes on the bytes of objects that its serde has encoded.

        A topic gets objects encoded again, as by records: its bytes do not depend on the execution.
        """
        known = None if self._outlet is not None else encoded_by(serde, column)
        if known is not None:
            return known
        if refers_to_objects(column.type):  # also of types that the serde's own columns have
            return serde.serialize_many(objects_of(column))
        return serde.from_arrow(without_objects(serde, column))

    def _check_rows(self, rows: pa.Table) -> None:
        """Raise the error of the first key or value that its serde cannot serialize, if any."""
        if not {"key", "value"}.issubset(rows.column_names):
            return
        for name, serde in (("key", self._key), ("value", self._value)):
            column = rows.column(name)
            if stays_bytes(serde) and pa.types.is_binary(column.type):
                continue
            for row, item in enumerate(objects_of(column)):
                try:
                    if item is not None:
                        serde.serialize(item)
                except KeyboardInterrupt:
                    raise
                except BaseException as exc:  # noqa: BLE001  # a serde is user code
                    error = self._unwritten(exc, objects_of(rows.column("key").slice(row, 1))[0])
                    raise error from error.__cause__

    def take_encoded(self, table: pa.Table) -> None:
        """Take an encoded table: columns key, value and timestamp, without headers."""
        self._flush()
        topic = self._topic
        if callable(topic):
            raise TypeError(
                f"node {self._node!r} chooses the topic of each record, so it cannot write "
                "a table of serialized records"
            )
        for rows in pieces(table):
            columns = [rows.column(name) for name in ("key", "value", "timestamp")]
            self._append(topic, [*columns, pa.nulls(rows.num_rows, HEADERS_TYPE)])

    def drain(self) -> pa.Table | None:
        """Return the taken records as a table of `OUTPUT_SCHEMA`, and clear them.

        Returns None without records.

        Raises:
            SerializationError: A record cannot be encoded; the error names node, topic and key.
            RecordRefusedError: A topic rejects a record, and the policy of the sink is `fail`.
            OSError: The disk is full, or rejects the write.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._flush()
        table = self._rows.drain()
        if table is None or self._outlet is None:
            return table
        table = pa.concat_tables(map(self._outlet.passed, pieces(table)))
        return table if table.num_rows else None

    def relieve(self) -> int:
        """Encode the taken records; return how many more to take before the next call.

        An error is kept for `drain`, because it does not belong to the current record.
        """
        count, size = self._rows.count, self._rows.size
        try:
            self._flush()
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  # user code; raised in drain
            self._failure = self._failure or exc
            self._records.clear()
            self._topics.clear()
        grown, added = self._rows.size - size, self._rows.count - count
        fitting = PIECE_BYTES * added // (2 * grown) if grown else _AT_MOST
        self._quota = max(1, min(_AT_MOST, 64 * self._quota, fitting))
        return self._quota

    def _take_encoded(self, record: Record[Any, Any]) -> None:
        topic = self._topic
        name = topic(record) if callable(topic) else topic
        encoded = self._encoded(record)
        if self._outlet is not None:
            self._check(self._outlet, name, encoded)
        self._records.append(encoded)
        self._topics.append(name)
        self._left -= 1
        if not self._left:
            self._left = self.relieve()

    def _check(self, outlet: Outlet, topic: str, record: Record[Any, Any]) -> None:
        try:
            outlet.check(topic, record)
        except KStreamsError as exc:
            known = {"target": topic, "timestamp": record.timestamp, "key": record.key}
            raise exc.at(node=self._node, **known) from exc.__cause__

    def _encoded(self, record: Record[Any, Any]) -> Record[bytes | None, bytes | None]:
        """Encode a record; raises a `SerdeError` with the record's key if that fails."""
        key, value = record.key, record.value
        try:
            if record.headers:
                check_headers(record.headers)
            data: RawParts = (
                None if key is None else self._key.serialize(key),
                None if value is None else self._value.serialize(value),
                record.headers,
            )
            if self._framing is not None:
                data = self._framing.write_record(*data, self._frames)
            return Record(data[0], data[1], _checked_time(record.timestamp), data[2])
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  # a serde is user code
            error = self._unwritten(exc, key)
            raise error from error.__cause__

    def _unwritten(self, exc: BaseException, key: object) -> SerdeError:
        """Return the error of a record that a serde cannot serialize; the error names the key."""
        error = exc if isinstance(exc, SerdeError) else _unserialisable(exc)
        topic = None if callable(self._topic) else self._topic
        return error.at(node=self._node, target=topic, key=key)

    def _flush(self) -> None:
        """Encode the taken records."""
        records = self._records
        if not records:
            return
        try:
            columns = self._columns(records)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            if not self._eager:
                for record in records:
                    self._encoded(record)
            raise _unserialisable(exc).at(node=self._node) from exc
        self._append(self._topics if callable(self._topic) else self._topic, columns)
        records.clear()
        self._topics = []

    def _columns(self, records: list[Record[Any, Any]]) -> list[Any]:
        """Return columns of key, value, timestamp and headers."""
        keys = [record.key for record in records]
        values = [record.value for record in records]
        if self._eager:
            encoded = [pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
        else:
            encoded = [self._key.serialize_many(keys), self._value.serialize_many(values)]
        times = pa.array([record.timestamp for record in records], pa.int64())
        if times.null_count:
            raise TypeError("a forwarded record has no timestamp")
        headers = headers_array([record.headers for record in records])
        if not self._eager:
            encoded[0], encoded[1], headers = self._framed(encoded[0], encoded[1], headers)
        return [*encoded, times, headers]

    def _framed(self, key: pa.Array, value: pa.Array, headers: pa.Array) -> Columns:
        """Move the frames of keys and values to the positions that the topic's framing defines."""
        if self._framing is None:
            return key, value, headers
        return self._framing.write(key, value, headers, self._frames)

    @property
    def _frames(self) -> Frames:
        return frame_of(self._key), frame_of(self._value)

    def _append(self, topics: str | list[str], columns: list[Any]) -> None:
        """Add rows of encoded columns, for one topic or with a topic for each row."""
        one = isinstance(topics, str)
        names = pa.repeat(topics, len(columns[0])) if one else pa.array(topics, pa.string())
        arrays = [names, *columns]
        self._rows.append(pa.Table.from_arrays(arrays, schema=OUTPUT_SCHEMA))


def _gathering(
    collector: ref[Collector], append: Callable[[Record[Any, Any]], None]
) -> Callable[[Record[Any, Any]], None]:
    """Return a function that takes a record, and calls `relieve` after each quota of records.

    The function is the method `send` of a generator, which takes half the time of a function that
    counts.
    """

    def gather() -> Generator[None, Record[Any, Any], None]:
        quota = _AT_FIRST
        while True:
            for _ in repeat(None, quota):
                append((yield))
            owner = collector()
            quota = _AT_FIRST if owner is None else owner.relieve()

    taking = gather()
    next(taking)
    return taking.send


def _checked_time(timestamp: int) -> int:
    if index(timestamp) not in _TIMES:
        raise SerializationError(f"expected a timestamp in int64 ms, got {timestamp}")
    return timestamp


def _unserialisable(exc: BaseException) -> SerializationError:
    error = SerializationError(f"{kind_of(exc)}: {text_of(exc)}")
    error.__cause__ = exc
    return error
