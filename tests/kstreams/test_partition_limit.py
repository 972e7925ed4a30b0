"""An absurd partition count is rejected at the call, and does not hang the machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kstreams import TEXT, Embedded, Topic, TopologyBuilder
from kstreams.errors import KafkaRequestError, KStreamsError, PartitionCountError, TopologyError
from kstreams.errors.topics import InvalidTopicError, TopicFormatError
from kstreams.partitioner import MAX_PARTITIONS
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_stdout
from kstreams_kafka.options import Kafka

LINES = Topic("lines", TEXT, TEXT)
MANY = 10**9


def builder() -> TopologyBuilder:
    made = TopologyBuilder("t")
    made.add_sink("out", to_stdout(), made.add_source("in", LINES))
    return made


def driver(home: Path) -> None:
    del home
    TopologyTestDriver(builder().build(), partitions=MANY)


def named(home: Path) -> None:
    del home
    TopologyTestDriver(builder().build(), partitions={"lines": MANY})


def repartition(home: Path) -> None:
    del home
    made = builder()
    made.repartition("by", made.add_source("b", LINES), key=TEXT, value=TEXT, partitions=MANY)


def embedded(home: Path) -> None:
    Embedded(home).admin().create("lines", MANY)


def kafka(home: Path) -> None:
    del home
    Kafka("127.0.0.1:1").admin().create("lines", MANY)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (driver, PartitionCountError),
        (named, PartitionCountError),
        (repartition, TopologyError),
        (embedded, InvalidTopicError),
        (kafka, KafkaRequestError),
    ],
)
def test_a_billion_partitions_are_rejected_at_the_call(
    call: Callable[[Path], None], error: type[KStreamsError], tmp_path: Path
) -> None:
    with pytest.raises(error, match="partition count is 1,000,000,000, expected 1 to 10,000"):
        call(tmp_path)
    assert not list(tmp_path.iterdir())


def test_default_partition_count_of_created_topics_is_limited(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="default_partitions is 1,000,000,000, expected 1 to"):
        Embedded(tmp_path, default_partitions=MANY)


def test_topic_description_with_too_many_partitions_is_rejected(tmp_path: Path) -> None:
    admin = Embedded(tmp_path).admin()
    admin.create("lines", 1)
    description = tmp_path / "lines" / "topic.json"
    description.write_text(json.dumps(json.loads(description.read_text()) | {"partitions": MANY}))
    with pytest.raises(TopicFormatError, match="expected 1 to 10,000"):
        Embedded(tmp_path).admin().end_offsets("lines")


@pytest.mark.long
def test_maximum_number_of_partitions_is_created(tmp_path: Path) -> None:
    connection = Embedded(tmp_path, durable=False)
    connection.admin().create("lines", MAX_PARTITIONS)
    assert connection.admin().partition_count("lines") == MAX_PARTITIONS
