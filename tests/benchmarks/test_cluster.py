"""The suite's broker: topics are created, filled once, measured, read and deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from benchmarks.suite.clicks import CLICKS
from benchmarks.suite.cluster import CacheInUse, Cluster, Output
from benchmarks.suite.dataset import DATA, Dataset
from benchmarks.suite.formats import decoder
from benchmarks.suite.registry import workload_by
from devtools.servers.silent_logger import SILENT
from kstreams import Kafka
from kstreams.connection import RawRecord
from tests.support.kafka.sample_records import read_all

pytestmark = pytest.mark.kafka

W2 = workload_by("W2")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cache")) as running:
        yield running


def records_in(cluster: Cluster, topic: str) -> list[RawRecord]:
    return read_all(Kafka(cluster.bootstrap), topic)


@pytest.mark.parametrize("partitions", [4, 7])
def test_fill_writes_dataset_once_and_each_record_to_partition_of_its_key(
    cluster: Cluster, partitions: int
) -> None:
    dataset = Dataset("some", CLICKS.make, CLICKS.filler, partitions=partitions)
    told: list[int] = []

    topic = cluster.fill(dataset, 300, told.append)

    rows = dataset.topic_rows(dataset.records(300)).to_pylist()
    wanted = Counter((r["partition"], r["key"], r["value"], r["timestamp"]) for r in rows)
    found = records_in(cluster, topic)
    assert Counter((r.partition, r.key, r.value, r.timestamp) for r in found) == wanted
    assert {partition for partition, *_ in wanted} == set(range(partitions))
    assert told
    told.clear()
    assert cluster.fill(dataset, 300, told.append) == topic
    assert told == []
    assert cluster.ends(topic) == 300 + partitions


def test_fill_rewrites_half_filled_topic(cluster: Cluster) -> None:
    dataset = Dataset("half", CLICKS.make, CLICKS.filler)
    cluster.create(dataset.topic(50))
    producer = Producer({"bootstrap.servers": cluster.bootstrap}, logger=SILENT)
    producer.produce(dataset.topic(50), b"old")
    producer.flush(60)

    topic = cluster.fill(dataset, 50, lambda _: None)

    assert cluster.ends(topic) == 54
    assert b"old" not in {record.value for record in records_in(cluster, topic)}


def test_delete_all_but_deletes_all_topics_except_those_of_datasets(cluster: Cluster) -> None:
    topic = cluster.fill(Dataset("kept", CLICKS.make, CLICKS.filler), 20, lambda _: None)
    cluster.create("gone")
    assert cluster.size_of(lambda name: name == topic) > 0

    cluster.delete_all_but(lambda name: name.startswith(DATA))

    assert topic in cluster.topics()
    assert "gone" not in cluster.topics()


@pytest.mark.parametrize("keys_tell", [False, True])
def test_output_returns_last_result_of_each_key_without_skipped_results(
    cluster: Cluster, keys_tell: bool
) -> None:
    topic = f"results-{keys_tell}"
    cluster.create(topic, 2)
    producer = Producer({"bootstrap.servers": cluster.bootstrap}, logger=SILENT)

    def write(partition: int, key: bytes, value: bytes | None, timestamp: int) -> None:
        producer.produce(topic, value, key, partition, timestamp=timestamp)
        producer.flush(60)

    output = Output(cluster.bootstrap, topic, decoder("decimal", W2), 2, keys_tell=keys_tell)
    try:
        write(0, b"a", b"1", 10)
        write(1, b"b", b"5", 11)
        output.read()
        assert output.results == {(b"a", 0, 0): (1, 10), (b"b", 0, 0): (5, 11)}
        write(0, b"a", b"2", 12)
        write(1, b"b", None, 13)
        output.read()
        assert output.results == {(b"a", 0, 0): (2, 12)}
        write(0, b"passed over", b"9", 14)
        output.skip()
        write(1, b"c", b"3", 15)
        output.read()
        assert output.results == {(b"a", 0, 0): (2, 12), (b"c", 0, 0): (3, 15)}
    finally:
        output.close()


def test_second_benchmark_run_on_same_cache_is_refused(cluster: Cluster) -> None:
    cache: Path = cluster.cache
    with pytest.raises(CacheInUse, match="give another --cache"), Cluster(cache):
        pytest.fail("two brokers on one folder")
