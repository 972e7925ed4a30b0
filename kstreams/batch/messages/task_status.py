"""The status of a task in a batch: its result for the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.batch.messages.task_numbers import TaskNumbers
from kstreams.ids import TaskId, TopicPartition, parse_keys, text_keys
from kstreams.state.log.commits import Output
from kstreams.state.log.fields import (
    MOST,
    Fields,
    WrongFieldError,
    checked_integer,
    checked_text,
)
from kstreams.state.log.loop_objects import LoopPart, parts_from_json, parts_to_json
from kstreams.state.log.receipts import Receipts, receipts_from_json, receipts_to_json
from kstreams.state.log.topic_counts import TopicCounts, topics_from_json, topics_to_json
from kstreams.state.log.totals import NodeCounts, SourceRead, by_reason
from kstreams.state.log.traffic import Traffic
from kstreams.task.times.holding import HeldBack

__all__ = ("ReadSizes", "TaskStatus", "sizes_from_json", "sizes_to_json")

ReadSizes = Mapping[TopicPartition, tuple[int, int]]
"""The number of read offsets, and the bytes of their records, by partition."""


@dataclass(frozen=True)
class TaskStatus:
    """The result of one task for a batch, from a worker to the driver.

    The result is valid only after the driver has committed the batch.

    Attributes:
        task: The id of the task.
        pointer: The written version of the task's state, as JSON text.
        records: The number of processed records.
        source_records: The number of processed records that were read from topics.
        sizes: The number of read offsets and bytes of each partition.
        held: The partitions with unprocessed records.
        counts: The input and output counts of each node that had records.
        reads: The processed offset range of each source partition.
        lines: The lines of `to_stdout` sinks, for the driver's standard output.
        wall_due_ms: The time of the next wall-clock work, ms since the epoch; None without
            wall-clock work.
        outputs: The output to publish after the commit; empty if writing publishes it.
        log: The number and bytes of the task's requests to the durable log.
        loops: The records that the task sent to loops.
        receipts: The receipts of sinks other than topics, to publish after the commit.
        staged: The staged output for topics in the durable log, to publish after the commit.
        numbers: The measurements of the task.
        topics: The records and bytes that were read from and written to each topic.
    """

    task: TaskId
    pointer: str
    records: int = 0
    source_records: int = 0
    sizes: ReadSizes = field(default_factory=dict)
    counts: Mapping[str, NodeCounts] = field(default_factory=dict)
    reads: tuple[SourceRead, ...] = ()
    lines: tuple[str, ...] = ()
    wall_due_ms: int | None = None
    outputs: tuple[Output, ...] = ()
    log: Traffic = field(default_factory=Traffic)
    loops: tuple[LoopPart, ...] = ()
    held: Mapping[TopicPartition, HeldBack] = field(default_factory=dict)
    receipts: tuple[Receipts, ...] = ()
    staged: tuple[LoopPart, ...] = ()
    numbers: TaskNumbers = field(default_factory=TaskNumbers)
    topics: Mapping[str, TopicCounts] = field(default_factory=dict)

    @property
    def dropped(self) -> dict[str, int]:
        """The number of dropped records, by reason."""
        return by_reason(self.counts)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON-compatible data."""
        return {
            "task": str(self.task),
            "pointer": self.pointer,
            "records": self.records,
            "sources": self.source_records,
            "sizes": sizes_to_json(self.sizes),
            "counts": {node: counts.to_json() for node, counts in self.counts.items()},
            "reads": [[r.node, str(r.place), r.rows, r.taken] for r in self.reads],
            "lines": list(self.lines),
            "due": self.wall_due_ms,
            "outputs": [output.to_json() for output in self.outputs],
            "log": self.log.to_json(),
            "loops": parts_to_json(self.loops),
            "held": text_keys(self.held),
            "receipts": receipts_to_json(self.receipts),
            "staged": parts_to_json(self.staged),
            "numbers": self.numbers.to_json(),
            "topics": topics_to_json(self.topics),
        }

    @classmethod
    def from_json(cls, fields: Fields) -> TaskStatus:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        return cls(
            TaskId.parse(fields.text("task")),
            fields.text("pointer"),
            fields.integer("records"),
            fields.integer("sources"),
            sizes_from_json(fields.mapping("sizes")),
            {n: NodeCounts.from_json(c) for n, c in fields.mapping("counts").items()},
            tuple(map(_read_from_json, fields.items("reads"))),
            tuple(checked_text(line, "a line") for line in fields.items("lines")),
            None if fields.anything("due") is None else fields.integer("due"),
            tuple(map(Output.from_json, fields.items("outputs"))),
            Traffic.from_json(checked_integer(n, "a count") for n in fields.items("log")),
            parts_from_json(fields.items("loops")),
            _held_from_json(fields.mapping("held")),
            receipts_from_json(fields.items("receipts")),
            parts_from_json(fields.items("staged")),
            TaskNumbers.from_json(fields.mapping("numbers")),
            topics_from_json(fields.mapping("topics")),
        )


def sizes_to_json(sizes: ReadSizes) -> dict[str, tuple[int, int]]:
    """Return the sizes as JSON-compatible data."""
    return text_keys(sizes)


def sizes_from_json(data: Mapping[str, Any]) -> ReadSizes:
    """Parse the result of `sizes_to_json`; raises a `ValueError` that describes the problem."""
    found: dict[TopicPartition, tuple[int, int]] = {}
    for place, (offsets, size) in parse_keys(TopicPartition, data).items():
        found[place] = checked_integer(offsets, "offsets"), checked_integer(size, "a size")
    return found


def _read_from_json(data: object) -> SourceRead:
    if not isinstance(data, list) or len(data) != len(SourceRead._fields):
        raise WrongFieldError("expected node, partition and two record counts of an input")
    node, place = (checked_text(text, "a node or a partition") for text in data[:2])
    rows, taken = (checked_integer(count, "a count of records") for count in data[2:])
    return SourceRead(node, TopicPartition.parse(place), rows, taken)


def _held_from_json(data: Mapping[str, Any]) -> dict[TopicPartition, HeldBack]:
    found: dict[TopicPartition, HeldBack] = {}
    for place, (offset, time, passed) in parse_keys(TopicPartition, data).items():
        found[place] = HeldBack(
            checked_integer(offset, "an offset"),
            checked_integer(time, "a time", least=-MOST),
            checked_integer(passed, "a count"),
        )
    return found
