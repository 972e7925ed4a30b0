"""Kafka topics on Spark: read by its own connector, written by producers in the tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kstreams.clock import to_ms
from kstreams.connection import TopicAdmin
from kstreams.errors import ExecutionError
from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.kafka.options import Kafka
from kstreams.kafka.sink import write_rows
from kstreams.spark.envelope import ROW_SCHEMA
from kstreams.spark.kafka_pack import Packer
from kstreams.spark.sinks import outputs_of
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import Queue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ("KafkaWriter", "kafka_rows", "starting_offsets")

_EARLIEST = -2
_READ_DEFAULTS = {
    # As librdkafka has it; Kafka's Java client would hand out aborted records.
    "kafka.isolation.level": "read_committed",
    # Fewer, larger polls: a quarter less of the JVM's time for records of 60 bytes.
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
}
# With null lists, Spark's size of an Arrow batch, asked for at each row, costs its length: nine
# tenths of the JVM's time.
_HEADERS = "coalesce(headers, array()) AS headers"
_COLUMNS = ("partition", "offset", "unix_millis(timestamp) AS timestamp", "key", "value")


@dataclass(frozen=True)
class KafkaWriter:
    """A `SinkWriter` on Kafka: what it writes is seen at once, and again after a retry.

    Args:
        connection: The cluster.
    """

    connection: Kafka

    def read_slice(self, data: Sequence[Any]) -> Queue:
        """Refuse: Spark's connector reads Kafka, plans name no slices of it."""
        raise ExecutionError(f"a plan names a slice of a Kafka topic: {data}")

    def write(
        self, output: TaskOutput, group: PartitionGroup, *, producer: str, batch: int
    ) -> list[list[Any]]:
        """Write a batch's output; it is durable on return, so there is nothing to publish."""
        for sink, partitioner, table in outputs_of(output, group):
            write_rows(
                self.connection,
                table,
                partitioner=partitioner,
                id_prefix=f"{producer}/{sink}/{batch}",
                node=sink,
            )
        return []


def kafka_rows(
    spark: SparkSession,
    connection: Kafka,
    group: PartitionGroup,
    *,
    stage: int,
    keys: Sequence[Sequence[int]],
    starting_offsets: str,
    max_records: int,
    headers: bool = True,
) -> DataFrame:
    """Return the stream of a group's source topics, packed as messages to its tasks.

    A batch has one row for every run of records of a partition, some MB at most; a
    partition without new records has none. Needs the jars of Spark's Kafka connector.

    Args:
        spark: The query's session.
        connection: The cluster; its `consumer` options win over what is set here.
        group: A group with sources.
        stage: The group's stage.
        keys: Spark keys of the tasks, by stage; a row gets `keys[stage][partition]`.
        starting_offsets: Where a new checkpoint begins, as the function of that name
            returns it.
        max_records: How many records a batch reads at most, over all partitions.
        headers: Whether to read headers.

    Returns:
        Columns of `ROW_SCHEMA`.
    """
    entries = {node.topic.name: node.name for node in group.sources}
    options = {**_READ_DEFAULTS, **connection.spark_options("consumer")}
    options["subscribe"] = ",".join(sorted(entries))
    options["startingOffsets"] = starting_offsets
    options["maxOffsetsPerTrigger"] = str(max_records)
    options["failOnDataLoss"] = "true"
    options["includeHeaders"] = str(headers).lower()
    columns = [
        *_COLUMNS,
        *([_HEADERS] if headers else []),
        *(["topic"] if len(entries) > 1 else []),
    ]
    records = spark.readStream.format("kafka").options(**options).load().selectExpr(*columns)
    return records.mapInArrow(Packer(stage, tuple(keys[stage]), entries), ROW_SCHEMA)


def starting_offsets(connection: Kafka, group: PartitionGroup) -> str:
    """Return where a group's sources begin, for Spark's option `startingOffsets`.

    Driver side. `latest` and times are looked up now, so that the choice is recorded and
    a restart before the first batch keeps it if it is given the same text.

    Raises:
        UnknownTopicError: A source topic does not exist.
        BrokerUnavailableError: No broker answers.
    """
    admin = connection.admin()
    try:
        found = {node.topic.name: _start(admin, node) for node in group.sources}
    finally:
        admin.close()
    return json.dumps(found, sort_keys=True)


def _start(admin: TopicAdmin, node: SourceNode) -> dict[str, int]:
    topic, start = node.topic.name, node.start
    if isinstance(start, datetime):
        offsets = admin.offsets_at(topic, to_ms(start))
    elif start == "latest":
        offsets = admin.end_offsets(topic)
    else:
        offsets = dict.fromkeys(range(admin.partition_count(topic)), _EARLIEST)
    return {str(partition): offset for partition, offset in sorted(offsets.items())}
