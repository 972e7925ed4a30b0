"""Crashes between staging of results, commit of the batch, Kafka transaction and its note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.partitioner import partition_of
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams_kafka.native.bulk_producer import NativeBulkProducer
from kstreams_kafka.options import Kafka
from kstreams_kafka.producing import BulkProducer
from kstreams_kafka.publisher import Publisher
from tests.support.crash.failpoints import Point
from tests.support.crash.files_app import append_file, marking_files
from tests.support.crash.harness import RECOVERIES, Harness, Recovery
from tests.support.crash.marking_app import COUNTS, LAST, MARKS, PARTITIONS, Mark
from tests.support.kafka.sample_records import read_all

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]

POINTS = (
    Point("one-of-two-tasks-staged", "before put loop", nth=2),
    Point("all-staged-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("between-the-batchs-commit-and-kafkas", "before transaction", dies="driver"),
    Point("amid-the-transaction", "amid transaction", dies="driver"),
    Point("after-kafkas-commit", "after transaction", dies="driver"),
    Point("published-and-spark-not-told", "reported", dies="driver"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=400),
)


class OnceHarness(Harness):
    """The app of the crash matrix on Kafka, where each result must be visible once.

    Args:
        broker: The cluster.
        prefix: Prefix of its topics.
        given: Arguments of `Harness`.
    """

    def __init__(self, broker: KafkaBroker, prefix: str, *given: Any) -> None:
        self.broker = broker
        self.words = broker.create_topic(f"{prefix}-words", PARTITIONS)
        self.marks = broker.create_topic(f"{prefix}-marks", PARTITIONS)
        super().__init__(*given)

    def connect(self) -> Kafka:
        return Kafka(self.broker.bootstrap, delivery="exactly-once")

    def append(self, records: Sequence[tuple[str, str]], number: int) -> None:
        writer = self.connection.writer()
        for key, value in records:
            partition = partition_of(key.encode(), PARTITIONS)
            time = 1000 * (number + 1)
            writer.enqueue(self.words, partition, key.encode(), value.encode(), time)
        writer.close()

    def build(self) -> Topology:
        builder = TopologyBuilder("marking")
        source = builder.add_source("words", Topic(self.words, TEXT, TEXT))
        node = builder.add_processor("mark", Mark, source, stores=[LAST, COUNTS, MARKS])
        builder.add_sink("marks", Topic(self.marks, TEXT, TEXT), node)
        return builder.build()

    def _published(self) -> Iterable[Any]:
        return read_all(self.connection, self.marks)

    def _patch_once(self) -> None:
        super()._patch_once()
        reach, patch = self.faults.reach, self._patch
        transact, wait, abandon = Publisher._transact, Publisher._await, Publisher._abandon

        def begun(publisher: Publisher, *given: Any) -> None:
            if given[2] >= 0:  # the first transaction only records where publishing begins
                reach("before transaction")
            transact(publisher, *given)

        def committed(publisher: Publisher, written: Any) -> None:
            reach("after transaction")
            wait(publisher, written)

        def abandoned(publisher: Publisher) -> None:
            if not self.faults.dead:  # otherwise the transaction stays open
                abandon(publisher)

        patch.setattr(Publisher, "_transact", begun)
        patch.setattr(Publisher, "_await", committed)
        patch.setattr(Publisher, "_abandon", abandoned)
        for producer in (BulkProducer, NativeBulkProducer):
            patch.setattr(producer, "flush", _flushing(producer.flush, reach))


class FilesOnceHarness(OnceHarness):
    """The same with records in files: the topic of results keeps the batch's number."""

    def append(self, records: Sequence[tuple[str, str]], number: int) -> None:
        append_file(self.home, records, number)

    def build(self) -> Topology:
        return marking_files(self.home, Topic(self.marks, TEXT, TEXT))


def _flushing(flush: Callable[[Any], None], reach: Callable[[str], object]) -> Callable[..., None]:
    def flushed(producer: Any) -> None:
        flush(producer)
        reach("amid transaction")

    return flushed


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_each_kafka_result_is_visible_once_after_a_crash(
    point: Point,
    recovery: Recovery,
    broker: KafkaBroker,
    topic_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = _given(tmp_path, point, recovery, monkeypatch)
    OnceHarness(broker, topic_name, *given).die_and_go_on(before=2)


@pytest.mark.parametrize("point", POINTS[3:6], ids=lambda point: point.name)
def test_each_kafka_result_is_visible_once_without_a_lock(
    point: Point,
    broker: KafkaBroker,
    topic_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Directory(str(tmp_path / "objects"))
    given = _given(tmp_path, point, "restart", monkeypatch)
    OnceHarness(broker, topic_name, *given, place).die_and_go_on(before=2)


@pytest.mark.parametrize("point", POINTS[3:6:2], ids=lambda point: point.name)
def test_each_kafka_result_of_files_is_visible_once(
    point: Point,
    broker: KafkaBroker,
    topic_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = _given(tmp_path, point, "restart", monkeypatch)
    FilesOnceHarness(broker, topic_name, *given).die_and_go_on(before=2)


def test_older_of_two_drivers_is_fenced_by_kafka(
    broker: KafkaBroker, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = Point("never", "never")
    harness = OnceHarness(broker, topic_name, *_given(tmp_path, never, "retry", monkeypatch))
    harness.start_driver()
    harness.batch()
    older = harness.query.driver
    commit = older.last
    assert commit is not None
    harness.start_driver()
    harness.batch()
    older._publish(commit)  # the driver hung and continues, but the cluster has the published batch
    harness.batch()
    harness.check()


def _given(
    home: Path, point: Point, recovery: Recovery, patch: pytest.MonkeyPatch
) -> tuple[Any, ...]:
    state = Memory(directory=str(home / "local"))
    return home, state, Directory(str(home / "log")), point, recovery, patch
