"""Tables of records are written to Kafka in bulk, durable on return."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams.connection import RawRecord
from kstreams.errors import (
    DeliveryError,
    KafkaOptionsError,
    KStreamsError,
    RecordRefusedError,
    UnknownTopicError,
)
from kstreams.partitioner import Murmur2Partitioner, partition_by, partition_of
from kstreams.raw_batch import ID_HEADER
from kstreams_kafka.options import Kafka
from kstreams_kafka.sink import write_rows
from tests.support.kafka.sample_records import output_table, read_all, sasl

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("each_way"),
]

MURMUR2 = Murmur2Partitioner()
PREFIX = "epoch/orders/0/totals/17"


def write(connection: Kafka, table: pa.Table, prefix: str = PREFIX) -> int:
    return write_rows(connection, table, partitioner=MURMUR2, id_prefix=prefix, node="totals")


def ids(records: list[RawRecord]) -> list[bytes | None]:
    return [dict(record.headers)[ID_HEADER] for record in records]


def test_rows_are_written_by_key_with_time_headers_and_id(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 4)
    kafka = Kafka(broker.bootstrap)
    keys = [b"key-%d" % (n % 50) for n in range(20_000)]
    headers = {0: (("a", b"1"), ("a", b"2")), 3: (("null", None), ("empty", b""))}
    assert write(kafka, output_table(topic_name, keys, headers=headers)) == 20_000
    found = read_all(kafka, topic_name)
    assert all(partition_of(r.key or b"", 4) == r.partition for r in found)
    for partition in range(4):  # order within a partition
        times = [r.timestamp for r in found if r.partition == partition]
        assert times == sorted(times)
    found.sort(key=lambda record: record.timestamp)
    assert list(range(1_000, 21_000)) == [r.timestamp for r in found]
    assert [b"v%d" % n for n in range(20_000)] == [r.value for r in found]
    assert keys == [r.key for r in found]
    assert [b"%s/%d" % (PREFIX.encode(), n) for n in range(20_000)] == ids(found)
    assert headers[0] == found[0].headers[:-1]
    assert headers[3] == found[3].headers[:-1]
    assert len(found[1].headers) == 1


def test_null_values_are_written_and_null_keys_distributed_round_robin(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 3)
    kafka = Kafka(broker.bootstrap)
    table = output_table(topic_name, [None, None, None, b""], values=[b"", None, b"x", None])
    write(kafka, table)
    found = sorted(read_all(kafka, topic_name), key=lambda record: record.timestamp)
    assert [(r.key, r.value) for r in found] == [
        (None, b""),
        (None, None),
        (None, b"x"),
        (b"", None),
    ]
    assert [r.partition for r in found[:3]] == [0, 1, 2]


def test_id_header_of_upstream_app_is_replaced(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    headers = {0: ((ID_HEADER, b"upstream/1"), ("kept", b"1")), 1: ((ID_HEADER, b"upstream/2"),)}
    write(kafka, output_table(topic_name, [b"a", b"b", b"c"], headers=headers))
    assert [
        (("kept", b"1"), (ID_HEADER, b"%s/0" % PREFIX.encode())),
        ((ID_HEADER, b"%s/1" % PREFIX.encode()),),
        ((ID_HEADER, b"%s/2" % PREFIX.encode()),),
    ] == [r.headers for r in read_all(kafka, topic_name)]


def test_sink_writes_each_row_to_its_chosen_topic(broker: KafkaBroker, topic_name: str) -> None:
    other = broker.create_topic(f"{topic_name}-other", 3)
    broker.create_topic(topic_name, 2)
    kafka = Kafka(broker.bootstrap)
    keys = [b"%d" % n for n in range(40)]
    table = output_table([(topic_name, other)[n % 3 == 0] for n in range(40)], keys)
    by_number = partition_by(lambda key, count: int(key) % count, name="by-number")
    write_rows(kafka, table, partitioner=by_number, id_prefix=PREFIX)
    for topic, partitions in ((topic_name, 2), (other, 3)):
        found = read_all(kafka, topic)
        assert all(int(r.key or b"") % partitions == r.partition for r in found)
        expected = {n for n in range(40) if (n % 3 == 0) == (topic == other)}
        assert expected == {int(r.key or b"") for r in found}
        assert all(
            i == b"%s/%s" % (PREFIX.encode(), r.key) for r, i in zip(found, ids(found), strict=True)
        )


def test_sink_writes_empty_table_without_broker() -> None:
    assert write(Kafka("127.0.0.1:9"), output_table("t", [])) == 0


def test_sliced_and_chunked_tables_are_written_completely(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    headers = {n: (("n", b"%d" % n),) for n in range(0, 60, 7)}
    whole = output_table(topic_name, [b"%d" % n for n in range(60)], headers=headers)
    table = pa.concat_tables([whole.slice(5, 20), whole.slice(25, 30)])
    write(kafka, table)
    found = read_all(kafka, topic_name)
    assert [b"%d" % n for n in range(5, 55)] == [r.key for r in found]
    assert {n: headers[n] for n in headers if 5 <= n < 55} == {
        int(r.key or b""): r.headers[:-1] for r in found if len(r.headers) > 1
    }


def test_error_of_missing_sink_topic_names_it_and_topic_is_not_created(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    with pytest.raises(UnknownTopicError, match="did you mean") as caught:
        write(kafka, output_table(f"{topic_name}x", [b"k"]))
    assert (f"{topic_name}x", "totals") == (caught.value.where.topic, caught.value.where.node)
    assert f"{topic_name}x" not in kafka.admin().topics()


def test_write_succeeds_after_deleted_topic_was_recreated_with_fewer_partitions(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 4)
    kafka = Kafka(broker.bootstrap, producer={"message.timeout.ms": 3_000})
    table = output_table(topic_name, [b"k%d" % n for n in range(100)])
    write(kafka, table)
    kafka.admin().delete(topic_name)
    with pytest.raises(KStreamsError):
        write(kafka, table)
    broker.create_topic(topic_name, 1)
    assert write(kafka, table) == 100
    assert len(read_all(kafka, topic_name)) == 100


@pytest.mark.parametrize("timestamp", [0, -5])
def test_invalid_timestamp_is_rejected(
    broker: KafkaBroker, topic_name: str, timestamp: int
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    with pytest.raises(RecordRefusedError, match=f"timestamp {timestamp} ms") as caught:
        write(kafka, output_table(topic_name, [b"a", b"b"], first_ms=timestamp))
    assert (topic_name, b"a", "totals") == (
        caught.value.where.topic,
        caught.value.where.key,
        caught.value.where.node,
    )
    assert read_all(kafka, topic_name) == []


@pytest.mark.parametrize("size", [900_000, 2_000_000], ids=["broker", "client"])
def test_record_too_large_is_rejected_and_next_one_written(
    broker: KafkaBroker, topic_name: str, size: int
) -> None:
    broker.create_topic(topic_name, config={"max.message.bytes": "500000"})
    kafka = Kafka(broker.bootstrap, producer={"compression.type": "none"})
    table = output_table(topic_name, [b"small", b"large"], values=[b"v", os.urandom(size)])
    with pytest.raises(RecordRefusedError) as caught:
        write(kafka, table)
    assert caught.value.code == "MSG_SIZE_TOO_LARGE"
    assert (topic_name, 0) == (caught.value.where.topic, caught.value.where.partition)
    assert write(kafka, table.slice(0, 1)) == 1


def test_table_larger_than_producer_queue_is_written(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name, 2)
    kafka = Kafka(broker.bootstrap, producer={"queue.buffering.max.messages": 100})
    assert write(kafka, output_table(topic_name, [b"k"] * 5_000)) == 5_000
    assert len(read_all(kafka, topic_name)) == 5_000


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_sink_writes_to_sasl_listener(broker: KafkaBroker, topic_name: str, mechanism: str) -> None:
    broker.create_topic(topic_name)
    write(sasl(broker, mechanism), output_table(topic_name, [b"a", b"b"]))
    assert len(read_all(sasl(broker, mechanism), topic_name)) == 2


def test_option_rejected_by_client_raises_options_error(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap, producer={"acks": 1})  # conflicts with idempotence
    with pytest.raises(KafkaOptionsError, match="acks"):
        write(kafka, output_table(topic_name, [b"a"]))


def kill_when_written(broker: KafkaBroker, topic: str, count: int) -> None:
    admin = Kafka(broker.bootstrap).admin()
    while sum(admin.end_offsets(topic).values()) < count:
        time.sleep(0.001)
    broker.kill()


@pytest.mark.kill
def test_broker_killed_during_write_raises_and_retry_repeats_ids(
    tmp_path: Path, topic_name: str
) -> None:
    with KafkaBroker(tmp_path) as own:
        own.create_topic(topic_name, 3)
        options = {"message.timeout.ms": 4_000, "queue.buffering.max.messages": 1_000}
        kafka = Kafka(own.bootstrap, producer=options)
        count = 100_000
        table = output_table(topic_name, [b"k%d" % n for n in range(count)])
        write(kafka, table.slice(0, 1), "warm")
        killer = threading.Thread(target=kill_when_written, args=(own, topic_name, 2_000))
        killer.start()
        started = time.monotonic()
        with pytest.raises(DeliveryError) as caught:
            write(kafka, table)
        assert time.monotonic() - started < 30
        killer.join()
        where = caught.value.where
        assert (topic_name, "totals") == (where.topic, where.node)
        assert isinstance(where.key, bytes)
        assert where.partition == partition_of(where.key, 3)
        assert caught.value.code
        assert f"Kafka at {own.bootstrap}" in str(caught.value)
        own.restart()
        assert write(kafka, table) == count
        copies: dict[bytes | None, RawRecord] = {}
        for record in read_all(Kafka(own.bootstrap), topic_name):
            number = dict(record.headers)[ID_HEADER]
            first = copies.setdefault(number, record)
            assert (first.partition, first.key, first.value, first.timestamp, first.headers) == (
                record.partition,
                record.key,
                record.value,
                record.timestamp,
                record.headers,
            )
        del copies[b"warm/0"]
        assert {b"%s/%d" % (PREFIX.encode(), n) for n in range(count)} == set(copies)


def test_pieces_of_table_have_ids_and_partitions_of_whole_table(
    broker: KafkaBroker, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka = Kafka(broker.bootstrap)
    names = [f"{topic_name}-{number}" for number in range(2)]
    topics = [broker.create_topic(name, 3) for name in names]
    keys = [None if n % 3 == 0 else b"k%d" % (n % 7) for n in range(600)]
    table = output_table([topics[n % 5 == 0] for n in range(600)], keys)
    found = []
    for most in 1 << 30, 4_000:
        monkeypatch.setattr("kstreams.pieces.PIECE_BYTES", most)
        before = {name: len(read_all(kafka, name)) for name in names}
        assert write(kafka, table) == 600
        written = [r for name in names for r in _after(kafka, name, before[name])]
        found.append(sorted((r.topic, r.partition, r.value, r.headers) for r in written))
    whole, pieces = found
    assert pieces == whole


def _after(kafka: Kafka, topic: str, count: int) -> list[RawRecord]:
    """Return the second half of each partition, or all of it if `count` is 0."""
    records = read_all(kafka, topic)
    if not count:
        return records
    found = []
    for partition in range(3):
        own = [record for record in records if record.partition == partition]
        found += own[len(own) // 2 :]
    return found
