"""Leader changes, broker crashes and forks of the process during reads and writes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest

from devtools.servers.kafka import KafkaBroker
from devtools.servers.mock_cluster import MockCluster
from kstreams.partitioner import partition_by
from kstreams_kafka.options import Kafka
from kstreams_kafka.outgoing import Outgoing
from kstreams_kafka.range_reader import OffsetRange, RangeReader
from kstreams_kafka.sink import open_producer, write_rows
from tests.support.kafka.sample_records import output_table

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("each_way"),
]

FIRST = partition_by(lambda _key, _count: 0, name="first")
PATIENCE = timedelta(minutes=2)


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that tests may kill and restart."""
    with KafkaBroker(tmp_path_factory.mktemp("mortal")) as running:
        yield running


def numbers(start: int, end: int) -> list[bytes | None]:
    return [b"%d" % n for n in range(start, end)]


def write(kafka: Kafka, topic: str, start: int, end: int) -> None:
    write_rows(kafka, output_table(topic, numbers(start, end)), partitioner=FIRST, id_prefix="a")


def read(reader: RangeReader, topic: str, start: int, end: int) -> list[bytes | None]:
    (table,) = reader.read([OffsetRange(topic, 0, start, end)])
    keys: list[bytes | None] = table.column("key").to_pylist()
    return keys


def test_leader_changes_lose_and_repeat_no_record(topic_name: str) -> None:
    """Leaders change between batches, and between enqueue and flush, while the reader waits."""
    size, rounds = 2_000, 6
    with MockCluster(2) as cluster, ThreadPoolExecutor(1) as thread:
        cluster.create_topic(topic_name)
        kafka = Kafka(cluster.bootstrap)
        producer = open_producer(kafka.client_options("producer"))
        reader = RangeReader(kafka, timeout=PATIENCE)
        reading = thread.submit(read, reader, topic_name, 0, size * rounds)
        for start in range(0, size * rounds, size):
            cluster.lead(topic_name, 0, 1)
            table = output_table(topic_name, numbers(start, start + size))
            producer.send(Outgoing(table, np.zeros(size, np.int32), "a", start))
            cluster.lead(topic_name, 0, 2)
            producer.flush()
        assert reading.result() == numbers(0, size * rounds)
        reader.close()
        producer.abandon()


def test_broker_crash_within_batch_loses_no_record(mortal: KafkaBroker, topic_name: str) -> None:
    """A reader waits within its range and a writer is in the middle of its table; both continue.

    A killed broker may have stored a request without an answer, and then stores it twice.
    """
    some, all_ = 2_000, 100_000
    with ThreadPoolExecutor(2) as threads:
        mortal.create_topic(topic_name)
        kafka = Kafka(mortal.bootstrap)
        reader, admin = RangeReader(kafka, timeout=PATIENCE), kafka.admin()
        write(kafka, topic_name, 0, some)
        assert read(reader, topic_name, 0, some) == numbers(0, some)
        reading = threads.submit(read, reader, topic_name, some, all_)
        writing = threads.submit(write, kafka, topic_name, some, all_)
        while admin.end_offsets(topic_name)[0] == some:
            time.sleep(0.01)
        mortal.kill()
        mortal.start()
        writing.result()
        found, end = reading.result(), admin.end_offsets(topic_name)[0]
        whole = read(reader, topic_name, 0, end)
        assert found == whole[some:all_]
        assert list(dict.fromkeys(whole)) == numbers(0, all_)
        reader.close()
        admin.close()


def test_forked_process_uses_its_own_clients(broker: KafkaBroker, topic_name: str) -> None:
    broker.create_topic(topic_name)
    kafka = Kafka(broker.bootstrap)
    reader = RangeReader(kafka)
    write(kafka, topic_name, 0, 10)
    assert read(reader, topic_name, 0, 10) == numbers(0, 10)
    child = os.fork()
    if child == 0:
        right = False
        try:
            signal.alarm(120)
            write(kafka, topic_name, 10, 20)
            right = read(RangeReader(kafka), topic_name, 0, 20) == numbers(0, 20)
        finally:
            os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    write(kafka, topic_name, 20, 30)  # the parent's clients still work
    assert read(reader, topic_name, 10, 30) == numbers(10, 30)
    reader.close()
