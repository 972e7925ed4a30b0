"""Changelog topics: created with the required settings, rejected if they do not fit."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams import (
    INT64,
    TEXT,
    Embedded,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    key_value_store,
)
from kstreams.batch.changelogs import open_changelogs
from kstreams.batch.io.topic_io import BatchId
from kstreams.connection import Connection
from kstreams.errors import PartitionCountError
from kstreams.task.output.outputs import TaskOutput
from kstreams_kafka.options import Kafka
from kstreams_kafka.topic_io import KafkaIO
from tests.support.kafka.sample_records import output_table, read_all


def topology(changelog: str) -> Topology:
    builder = TopologyBuilder("logged")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    store = key_value_store("s", key=TEXT, value=INT64).with_changelog(changelog)
    builder.add_processor("keep", filter_(lambda k, v: True), source, stores=[store])
    return builder.build()


def opened(connection: Connection, changelog: str, tasks: int = 3) -> dict[str, tuple[int, ...]]:
    found = open_changelogs(connection, topology(changelog), {"in": tasks})
    with closing(connection.admin()) as admin:
        assert {ends.topic_id for ends in found.values()} == {admin.ends(changelog).topic_id}
    return {store: tuple(ends.offsets.values()) for store, ends in found.items()}


def test_missing_changelog_topic_is_created_and_existing_topic_is_continued(tmp_path: Path) -> None:
    connection = Embedded(tmp_path, durable=False)
    assert opened(connection, "log") == {"s": (0, 0, 0)}
    assert connection.log().topic("log").config == {"cleanup.policy": "compact"}
    connection.writer().write("log", 1, b"k", b"v", 5).result()
    assert opened(connection, "log") == {"s": (0, 1, 0)}


def test_changelog_topic_with_other_partition_count_is_rejected(tmp_path: Path) -> None:
    connection = Embedded(tmp_path, durable=False)
    connection.admin().create("log", 2)
    with pytest.raises(PartitionCountError, match="has 2 partitions, but store 's' has 3"):
        opened(connection, "log")


@pytest.mark.kafka
def test_kafka_changelog_is_compacted_and_each_task_has_its_partition(
    broker: KafkaBroker, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = Kafka(broker.bootstrap)
    assert opened(kafka, topic_name) == {"s": (0, 0, 0)}
    assert kafka.admin().describe(topic_name).config["cleanup.policy"] == "compact"

    table = output_table(topic_name, [b"a", b"b"], values=[b"1", None])
    output = TaskOutput(changelogs={"s": table}, partition=2)
    (group,) = topology(topic_name).groups
    KafkaIO(kafka).write(output, group, BatchId("epoch/in/2", 7))
    assert [(r.partition, r.key, r.value, r.headers) for r in read_all(kafka, topic_name)] == [
        (2, b"a", b"1", (("kstreams-id", b"epoch/in/2/changelog:s/7/0"),)),
        (2, b"b", None, (("kstreams-id", b"epoch/in/2/changelog:s/7/1"),)),
    ]
    caplog.set_level(logging.WARNING, "kstreams")
    assert opened(kafka, topic_name) == {"s": (0, 0, 2)}
    assert "cleanup.policy" not in caplog.text


@pytest.mark.kafka
def test_changelog_topic_with_retention_by_deletion_logs_warning(
    broker: KafkaBroker, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create_topic(topic_name, 3)
    caplog.set_level(logging.WARNING, "kstreams")
    opened(Kafka(broker.bootstrap), topic_name)
    assert f"changelog topic '{topic_name}' has cleanup.policy=delete" in caplog.text
