"""The emitter writes typed records to a topic from outside of a topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, NONE, TEXT, Embedded
from kstreams.clock import FakeClock
from kstreams.connection import Appended, RawRecord, TopicAdmin, TopicReader
from kstreams.emitter import Emitter, partition_count
from kstreams.errors import SerializationError, UnknownTopicError
from kstreams.partitioner import partition_by, partition_of
from kstreams.record import Headers, Record
from kstreams.topic import Topic

ORDERS = Topic("orders", key=TEXT, value=TEXT)
NULLABLE = Topic("orders", key=TEXT, value=TEXT, nulls="pass", null_keys="pass")


@pytest.fixture
def connection(tmp_path: Path) -> Embedded:
    return Embedded(tmp_path, durable=False)


def everything(connection: Embedded, topic: str = "orders") -> list[RawRecord]:
    ends = connection.admin().end_offsets(topic)
    reader = connection.reader()
    return [record for n, end in ends.items() for record in reader.read(topic, n, 0, end)]


def test_record_is_written_to_partition_of_its_key(connection: Embedded) -> None:
    with Emitter(ORDERS, connection) as emitter:
        place = emitter.emit("ann", "3", timestamp=1_000, headers=(("h", b"x"),)).result(30)
    assert place == Appended("orders", partition_of(b"ann", 4), 0)
    assert everything(connection) == [
        RawRecord("orders", place.partition, 0, 1_000, b"ann", b"3", (("h", b"x"),))
    ]


def test_emitter_uses_partitioner_of_topic(connection: Embedded) -> None:
    by_length = partition_by(lambda key, count: len(key) % count, name="by-length")
    topic = Topic("orders", key=TEXT, value=TEXT, partitioner=by_length)
    with Emitter(topic, connection) as emitter:
        emitter.emit("xx", "")
        emitter.emit("xxx", "")
        emitter.emit("xxx", "", partition=0)
    assert [record.partition for record in everything(connection)] == [0, 2, 3]


def test_records_without_key_are_distributed_round_robin(connection: Embedded) -> None:
    with Emitter(NULLABLE, connection) as emitter:
        places = [emitter.emit(None, str(n)) for n in range(6)]
        assert emitter.emit("ann", None).result(30).partition == partition_of(b"ann", 4)
    assert [place.result().partition for place in places] == [0, 1, 2, 3, 0, 1]


def test_emitted_value_none_is_written_as_tombstone(connection: Embedded) -> None:
    with Emitter(NULLABLE, connection) as emitter:
        emitter.emit("ann", None)
    assert [record.value for record in everything(connection)] == [None]


def test_topic_without_keys_has_null_keys(connection: Embedded) -> None:
    with Emitter(Topic("orders", key=NONE, value=INT64), connection) as emitter:
        emitter.emit(None, 1)
    assert [record.key for record in everything(connection)] == [None]


def test_timestamps_come_from_clock_or_caller(connection: Embedded) -> None:
    clock = FakeClock(5_000)
    with Emitter(ORDERS, connection, clock=clock) as emitter:
        emitter.emit("a", "clock")
        clock.advance(timedelta(seconds=1))
        emitter.emit_many([("a", "later")])
        emitter.emit("a", "number", timestamp=7)
        emitter.emit("a", "time", timestamp=datetime(1970, 1, 1, 1, tzinfo=timezone.utc))
    found = {record.value: record.timestamp for record in everything(connection)}
    assert found == {b"clock": 5_000, b"later": 6_000, b"number": 7, b"time": 3_600_000}


def test_invalid_timestamps_are_rejected_at_the_call(connection: Embedded) -> None:
    with Emitter(ORDERS, connection) as emitter:
        with pytest.raises(ValueError, match="no time zone"):
            emitter.emit("a", "b", timestamp=datetime(2020, 1, 1))
        with pytest.raises(ValueError, match="negative"):
            emitter.emit("a", "b", timestamp=-1)
    assert everything(connection) == []


def test_error_of_value_rejected_by_serde_names_topic_and_key(connection: Embedded) -> None:
    with Emitter(Topic("orders", key=TEXT, value=INT64), connection) as emitter:
        with pytest.raises(SerializationError) as caught:
            emitter.emit("ann", 2**70)
        assert (caught.value.where.topic, caught.value.where.key) == ("orders", "ann")
        with pytest.raises(SerializationError) as caught:
            emitter.emit(7, 1)  # type: ignore[arg-type]  # the fault under test
        assert (caught.value.where.topic, caught.value.where.key) == ("orders", 7)
    assert everything(connection) == []


def test_emit_many_accepts_pairs_and_records(connection: Embedded) -> None:
    def made() -> Iterator[tuple[str, str] | Record[str, str]]:
        yield "a", "1"
        yield Record("a", "2", timestamp=9, headers=(("h", None),))

    with Emitter(ORDERS, connection, clock=FakeClock(4)) as emitter:
        assert emitter.emit_many(made()) == 2
        assert emitter.emit_many([]) == 0
        found = everything(connection)
    assert [(r.value, r.timestamp, r.headers) for r in found] == [
        (b"1", 4, ()),
        (b"2", 9, (("h", None),)),
    ]


def test_flush_makes_emitted_records_durable(connection: Embedded) -> None:
    with Emitter(ORDERS, connection) as emitter:
        places = [emitter.emit(str(n), "") for n in range(100)]
        emitter.flush()
        assert all(place.done() for place in places)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=30))
def test_order_of_each_key_is_kept(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    connection = Embedded(tmp_path_factory.mktemp("topics"), durable=False)
    with Emitter(ORDERS, connection) as emitter:
        emitter.emit_many(pairs)
    by_key: dict[str, list[str]] = {}
    for key, value in pairs:
        by_key.setdefault(key, []).append(value)
    found: dict[str, list[str]] = {}
    for record in everything(connection):
        found.setdefault((record.key or b"").decode(), []).append((record.value or b"").decode())
    assert found == by_key


@dataclass
class ListWriter:
    """A writer without a bulk method, like those of other connections."""

    written: list[tuple[object, ...]] = field(default_factory=list)
    failure: Exception | None = None

    def write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> Future[Appended]:
        future: Future[Appended] = Future()
        if self.failure is not None:
            future.set_exception(self.failure)
        else:
            self.written.append((topic, partition, key, value, timestamp, headers))
            future.set_result(Appended(topic, partition, len(self.written) - 1))
        return future

    def flush(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class FixedTopics:
    """A connection that does not create topics."""

    embedded: Embedded
    list_writer: ListWriter = field(default_factory=ListWriter)

    def admin(self) -> TopicAdmin:
        return self.embedded.admin()

    def reader(self) -> TopicReader:
        return self.embedded.reader()

    def writer(self) -> ListWriter:
        return self.list_writer


def test_missing_topic_raises_if_connection_creates_none(connection: Embedded) -> None:
    with pytest.raises(UnknownTopicError):
        Emitter(ORDERS, FixedTopics(connection))
    config: Mapping[str, str] = {}
    connection.admin().create("orders", 7, config=config)
    assert partition_count(FixedTopics(connection), "orders") == 7


def test_emitter_accepts_connection_with_custom_writer(connection: Embedded) -> None:
    connection.ensure("orders")
    fixed = FixedTopics(connection)
    with Emitter(ORDERS, fixed) as emitter:
        assert emitter.emit_many(("k", str(n)) for n in range(2_500)) == 2_500
    assert [row[3] for row in fixed.list_writer.written] == [b"%d" % n for n in range(2_500)]


@pytest.mark.parametrize("count", [1, 2_500])
def test_emit_many_raises_failed_append(connection: Embedded, count: int) -> None:
    connection.ensure("orders")
    fixed = FixedTopics(connection, ListWriter(failure=UnknownTopicError("gone")))
    with Emitter(ORDERS, fixed) as emitter, pytest.raises(UnknownTopicError, match="gone"):
        emitter.emit_many([("k", "v")] * count)
