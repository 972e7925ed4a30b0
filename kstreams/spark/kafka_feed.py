"""Feed a pipeline from Kafka: Spark's own connector reads, tasks write."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kstreams.graph.topology import PartitionGroup
from kstreams.kafka.options import Kafka
from kstreams.spark.kafka_io import KafkaWriter, kafka_rows, starting_offsets
from kstreams.spark.plans import Plan
from kstreams.state.commits import Output

__all__ = ("KafkaFeed", "committed_offsets")


class KafkaFeed:
    """A `Feed` on Kafka topics.

    Args:
        connection: The cluster.
        groups: The pipeline's groups, by stage.
        max_records: How many records a batch reads at most.
        path: The query's directory; keeps where a source without a commit begins.
        positions: By `topic/partition`, where reading begins if this is the first start of
            the query, and not where its sources say.
    """

    def __init__(
        self,
        connection: Kafka,
        groups: Sequence[PartitionGroup],
        *,
        max_records: int,
        path: Path,
        positions: Mapping[str, int],
    ) -> None:
        self._connection = connection
        self._groups = groups
        readers = sum(1 for group in groups if group.sources)
        self._max_records = max(max_records // max(readers, 1), 1)
        self._path = path
        self._first = positions
        self._admin = connection.admin()
        self._topics = sorted({node.topic.name for group in groups for node in group.sources})
        self.writer = KafkaWriter(connection)

    def rows(
        self, session: SparkSession, stage: int, keys: Sequence[Sequence[int]]
    ) -> DataFrame | None:
        """Return the stream of a stage's source topics, or None if it has none."""
        group = self._groups[stage]
        if not group.sources:
            return None
        return kafka_rows(
            session,
            self._connection,
            group,
            stage=stage,
            keys=keys,
            starting_offsets=self._starts(stage),
            max_records=self._max_records,
        )

    def _starts(self, stage: int) -> str:
        """Decide once where a group begins; a restart before its first commit keeps to it."""
        file = self._path / f"starts-{stage}.json"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.with_suffix(f".{os.getpid()}")
            temporary.write_text(self._first_offsets(stage))
            temporary.replace(file)
        return file.read_text()

    def _first_offsets(self, stage: int) -> str:
        found = json.loads(starting_offsets(self._connection, self._groups[stage]))
        for topic, offsets in found.items():
            for partition in offsets:
                place = f"{topic}/{partition}"
                offsets[partition] = self._first.get(place, offsets[partition])
        return json.dumps(found)

    def next_plan(self, until: Mapping[str, int] | None) -> Plan | None:
        """Return None: Spark decides what a batch reads."""
        return None

    def positions(self) -> dict[str, int]:
        """Return nothing: Spark keeps the offsets."""
        return {}

    def starts(self) -> dict[str, int]:
        """Return the offsets that the sources began at; none where that was the earliest."""
        return {
            f"{topic}/{partition}": offset
            for stage, group in enumerate(self._groups)
            if group.sources
            for topic, offsets in json.loads(self._starts(stage)).items()
            for partition, offset in offsets.items()
            if offset >= 0
        }

    def end(self) -> dict[str, int]:
        """Return the present end of every source partition."""
        return {
            f"{topic}/{partition}": offset
            for topic in self._topics
            for partition, offset in self._admin.end_offsets(topic).items()
        }

    def reached(self, end: Mapping[str, int]) -> bool:
        """Tell whether Spark has committed everything before an end."""
        done = committed_offsets(self._path / "spark") or self._begins()
        return all(done.get(place, 0) >= offset for place, offset in end.items())

    def _begins(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for stage, group in enumerate(self._groups):
            if not group.sources:
                continue
            for topic, offsets in json.loads(self._starts(stage)).items():
                first = self._admin.beginning_offsets(topic)
                for partition, offset in offsets.items():
                    begin = first[int(partition)] if offset < 0 else offset
                    found[f"{topic}/{partition}"] = begin
        return found

    def publish(self, outputs: Sequence[Output], batch: int) -> None:
        """Do nothing: what tasks write is seen at once."""

    def backlog(self) -> int:
        """Return 0: asking Kafka after each batch would cost more than it tells."""
        return 0


def committed_offsets(checkpoint: Path) -> dict[str, int]:
    """Return what Spark has read and committed, by `topic/partition`; empty before any.

    Reads the logs of Spark's checkpoint: a file a batch in `offsets/` (a version, settings,
    then a line a source) and one in `commits/`.
    """
    try:
        files = (checkpoint / "commits").iterdir()
        done = [int(file.name) for file in files if file.name.isdigit()]
        text = (checkpoint / "offsets" / str(max(done))).read_text() if done else ""
    except FileNotFoundError:
        return {}
    found: dict[str, int] = {}
    for line in text.splitlines()[2:]:
        parsed = json.loads(line) if line.startswith("{") else {}
        for topic, offsets in parsed.items():
            if isinstance(offsets, dict):
                found.update({f"{topic}/{p}": offset for p, offset in offsets.items()})
    return found
