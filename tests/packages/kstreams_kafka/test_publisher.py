"""Each batch is published in one transaction, exactly once, despite retries and failures."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta

import pyarrow as pa
import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams.errors import (
    FencedError,
    KafkaOptionsError,
    KStreamsError,
    RecordRefusedError,
    TransactionError,
    TransactionTimeoutError,
    UnknownTopicError,
)
from kstreams.partitioner import Murmur2Partitioner
from kstreams_kafka.options import Kafka
from kstreams_kafka.publisher import Publisher
from kstreams_kafka.sink import placed_rows
from kstreams_kafka.staged_rows import from_table, to_table
from tests.support.kafka.sample_records import output_table, read_all

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("each_way"),
]


def nobody_else() -> None:
    """A fencing check that finds no newer driver."""


class Query:
    """A query with a topic, and the rows staged by its tasks."""

    def __init__(self, broker: KafkaBroker, topic: str, **options: str) -> None:
        self.topic = broker.create_topic(topic, 2)
        self.kafka = Kafka(broker.bootstrap, producer=options)
        self.made: list[Publisher] = []

    def driver(self, following: int = 0) -> Publisher:
        """Return the publisher of a driver at its start."""
        made = Publisher(self.kafka, f"app.{self.topic}", patience=timedelta(seconds=20))
        self.made.append(made)
        made.prepare(self.topic, following)
        return made

    def rows(self, *values: bytes, prefix: str | None = None) -> list[pa.Table]:
        table = output_table(self.topic, [b"k-%b" % v for v in values], values=values)
        placed = placed_rows(
            self.kafka, table, partitioner=Murmur2Partitioner(), id_prefix=prefix, node="out"
        )
        return list(map(to_table, placed))

    def seen(self) -> list[bytes]:
        return sorted(record.value or b"" for record in read_all(self.kafka, self.topic))


@pytest.fixture
def query(broker: KafkaBroker, topic_name: str) -> Iterator[Query]:
    found = Query(broker, topic_name)
    yield found
    for made in found.made:
        made.close()


def test_batch_published_twice_is_visible_once(query: Query) -> None:
    first = query.driver()
    assert first.publish(query.topic, 0, lambda: query.rows(b"a", b"b"), nobody_else)
    assert not first.publish(query.topic, 0, lambda: query.rows(b"other"), nobody_else)
    assert query.seen() == [b"a", b"b"]
    after = query.driver(following=7)  # the cluster has a later batch number
    assert not after.publish(query.topic, 0, lambda: query.rows(b"other"), nobody_else)
    assert after.publish(query.topic, 1, lambda: query.rows(b"c"), nobody_else)
    assert query.seen() == [b"a", b"b", b"c"]


def test_published_records_have_staged_partitions_headers_and_ids(query: Query) -> None:
    (table,) = query.rows(b"a", b"b", prefix="epoch/out/0")
    outgoing = from_table(table)
    assert (outgoing.id_prefix, outgoing.first) == ("epoch/out/0", 0)
    query.driver().publish(query.topic, 0, lambda: [table], nobody_else)
    found = read_all(query.kafka, query.topic)
    assert [r.partition for r in found] == sorted(outgoing.partitions.tolist())
    assert sorted(dict(r.headers)["kstreams-id"] or b"" for r in found) == [
        b"epoch/out/0/0",
        b"epoch/out/0/1",
    ]


def test_readers_see_no_record_of_unfinished_transaction(query: Query) -> None:
    driver = query.driver()

    def half() -> Iterator[pa.Table]:
        yield from query.rows(b"first half")
        assert query.seen() == []
        yield from query.rows(b"second half")

    driver.publish(query.topic, 0, half, nobody_else)
    assert query.seen() == [b"first half", b"second half"]


def test_driver_fenced_within_transaction_publishes_nothing(query: Query) -> None:
    older = query.driver()

    def taken() -> Iterator[pa.Table]:
        yield from query.rows(b"of the older")
        newer = query.driver()
        newer.publish(query.topic, 0, lambda: query.rows(b"of the newer"), nobody_else)

    def newer_runs() -> None:
        raise FencedError("a newer driver has taken the checkpoint")

    with pytest.raises(FencedError, match="newer driver"):
        older.publish(query.topic, 0, taken, newer_runs)
    assert query.seen() == [b"of the newer"]


def test_fenced_producer_is_reopened_by_newest_driver(
    query: Query,
) -> None:
    newest, older = query.driver(), query.driver()
    assert newest.publish(query.topic, 0, lambda: query.rows(b"a"), nobody_else)
    assert query.seen() == [b"a"]
    assert not older.publish(query.topic, 0, lambda: query.rows(b"b"), nobody_else)


def test_repeatedly_fenced_producer_raises_fenced_error(query: Query) -> None:
    driver = query.driver()

    def contested() -> Iterator[pa.Table]:
        query.driver()
        yield from query.rows(b"never")

    with pytest.raises(FencedError, match="transactional id"):
        driver.publish(query.topic, 0, contested, nobody_else)
    assert query.seen() == []


def test_open_transaction_of_dead_driver_is_aborted_by_next_start(query: Query) -> None:
    dead = query.driver()
    producer = dead._open()
    producer.transactions().begin()
    producer.send(from_table(query.rows(b"never seen")[0]))
    producer.flush()
    query.driver().publish(query.topic, 0, lambda: query.rows(b"seen"), nobody_else)
    assert query.seen() == [b"seen"]


def test_transaction_longer_than_its_timeout_raises(broker: KafkaBroker, topic_name: str) -> None:
    query = Query(broker, topic_name, **{"transaction.timeout.ms": "1000"})
    driver = query.driver()

    def slow() -> Iterator[pa.Table]:
        yield from query.rows(b"too")
        time.sleep(2.5)
        yield from query.rows(b"late")

    with pytest.raises(TransactionTimeoutError, match="within 1 s") as caught:
        driver.publish(query.topic, 0, slow, nobody_else)
    assert "transaction.timeout.ms" in caught.value.hint
    assert driver.publish(query.topic, 0, lambda: query.rows(b"quick"), nobody_else)
    driver.close()
    assert query.seen() == [b"quick"]


def test_timeout_above_broker_limit_is_rejected(broker: KafkaBroker, topic_name: str) -> None:
    query = Query(broker, topic_name, **{"transaction.timeout.ms": "9000000"})
    with pytest.raises(TransactionTimeoutError, match="9000 s"):
        query.driver()


def test_timeout_that_is_not_a_number_is_rejected(broker: KafkaBroker, topic_name: str) -> None:
    query = Query(broker, topic_name, **{"transaction.timeout.ms": "long"})
    with pytest.raises(KafkaOptionsError, match="expected a number of milliseconds"):
        query.driver()


def test_publish_without_group_offset_raises_transaction_error(query: Query) -> None:
    stranger = Publisher(query.kafka, f"app.{query.topic}")
    with pytest.raises(TransactionError, match="not known whether batch 3") as caught:
        stranger.publish(query.topic, 3, lambda: query.rows(b"a"), nobody_else)
    assert ": 4 if they have results, 3 if not" in caught.value.hint
    stranger.close()
    assert query.seen() == []


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda query: query.kafka.admin().delete(query.topic), UnknownTopicError),
        (lambda _: None, RecordRefusedError),
    ],
    ids=["topic gone", "too large"],
)
def test_batch_rejected_by_topic_is_not_visible_and_can_be_retried(
    broker: KafkaBroker, topic_name: str, spoil: object, error: type[KStreamsError]
) -> None:
    query = Query(broker, topic_name)
    other = Query(broker, f"{topic_name}-other")
    driver = query.driver()
    value = os.urandom(2_000_000 if error is RecordRefusedError else 1)
    rows: Iterable[pa.Table] = [*query.rows(b"fits"), *other.rows(value)]
    spoil(other)  # type: ignore[operator]  # a function of the table
    with pytest.raises(error):
        driver.publish(query.topic, 0, lambda: rows, nobody_else)
    assert query.seen() == []
    assert driver.publish(query.topic, 0, lambda: query.rows(b"mended"), nobody_else)
    driver.close()
    assert query.seen() == [b"mended"]


def test_topic_with_small_message_limit_gets_small_batches(
    broker: KafkaBroker, topic_name: str
) -> None:
    query = Query(broker, topic_name)
    small = broker.create_topic(f"{topic_name}-small", 1, {"max.message.bytes": "20000"})
    table = output_table(small, [None] * 50, values=[b"%04d" % n * 1_000 for n in range(50)])
    placed = placed_rows(
        query.kafka, table, partitioner=Murmur2Partitioner(), id_prefix=None, node="out"
    )
    rows = list(map(to_table, placed))
    driver = query.driver()
    assert driver.publish(query.topic, 0, lambda: rows, nobody_else)
    driver.close()
    assert len(read_all(query.kafka, small)) == 50
