"""What an app reports to its watchers: states and committed batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from kstreams.batch.latency import Latency
from kstreams.batch.task_moves import TaskMove
from kstreams.errors import ExecutionError
from kstreams.ids import TaskId, TopicPartition
from kstreams.quoting import kind_of, text_of
from kstreams.state.log.topic_counts import TopicCounts
from kstreams.state.log.totals import NodeCounts, Totals
from kstreams.state.log.traffic import Traffic
from kstreams.task.progress.drop_sample import DropSample

__all__ = ("AppState", "BatchReport", "TaskReport", "report_batch")

T = TypeVar("T")
"""What a function is called with."""


class AppState(Enum):
    """What an app is doing, in order; `FAILED` may follow any but `STOPPED`."""

    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class TaskReport:
    """What one task has done in a batch.

    Attributes:
        task: Which task.
        records: How many records it processed.
        seconds: How long it took by phase: `read`, `restore`, `process`, `write`, `commit`.
        put_bytes: What it has written to the durable log.
        worker: Where it ran: machine and process.
        attempts: How often it ran, until it was done.
        restored: Whether its state was restored from the durable log.
        node_seconds: How long its nodes took, by samples: nothing in most short batches, in the
            long run what they take. What was no node's is under "".
        began_ms: When it began to read, by its worker's clock, ms since the epoch.
        rows: How many rows each of its stores had before the batch, in some backends about.
    """

    task: TaskId
    records: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    put_bytes: int = 0
    worker: str = ""
    attempts: int = 1
    restored: bool = False
    node_seconds: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    began_ms: int = 0


@dataclass(frozen=True)
class BatchReport:
    """One committed batch of one query.

    Attributes:
        query: The query's name.
        batch: Spark's batch id.
        records: How many records its tasks processed, each stage counted.
        source_records: How many of them came from topics.
        dropped: How many were dropped, by reason.
        published: How many segments became visible.
        seconds: From the call of the batch to the end of its commit.
        backlog: How many records were there when the batch was planned and not part of it.
        log: What its tasks, and the driver since its last report, asked of the durable log.
        looped: How many records it left in loops, for the next batch.
        nodes: How many records each node took, gave and dropped in it, by its name.
        totals: The same of all batches so far, and what waits for a later batch: as the commit
            has it, so that a crash counts nothing twice.
        committed_ms: When it was committed, ms since the epoch.
        phases: Seconds by phase: `wait` since the batch before, `plan`, `job`, `commit`, `publish`.
        tasks: What each of its tasks has done, and how long it took.
        lag: How many offsets of each partition it has left, of those that were known when it was
            committed.
        latency: How old the records were that it has read, when it was committed.
        samples: Where a few of the records came from that it has dropped.
        jobs: How many jobs of Spark it took: more than one where a worker has died, or where it
            had to be planned smaller.
        topics: What it read from each topic and wrote to it: records and bytes.
        moves: Which of its tasks ran on another worker than before, first batches included.
    """

    query: str
    batch: int
    records: int
    source_records: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    published: int = 0
    seconds: float = 0.0
    backlog: int = 0
    log: Traffic = field(default_factory=Traffic)
    looped: int = 0
    nodes: Mapping[str, NodeCounts] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    committed_ms: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    tasks: tuple[TaskReport, ...] = ()
    lag: Mapping[TopicPartition, int] = field(default_factory=dict)
    latency: Latency = field(default_factory=Latency)
    samples: tuple[DropSample, ...] = ()
    jobs: int = 1
    topics: Mapping[str, TopicCounts] = field(default_factory=dict)
    moves: tuple[TaskMove, ...] = ()

    @property
    def node_seconds(self) -> dict[str, float]:
        """How long its nodes took, by samples; what was no node's is under ""."""
        found: Counter[str] = Counter()
        for task in self.tasks:
            found.update(task.node_seconds)
        return dict(found)


def report_batch(
    on_batch: Callable[[BatchReport], None] | None,
    on_moves: Sequence[Callable[[Sequence[TaskMove]], None]],
    report: BatchReport,
    lines: Sequence[str],
) -> None:
    """Print what a batch has for the standard output, then call the user's functions.

    Args:
        on_batch: Called with the report, if there is one.
        on_moves: Called with the report's `moves`, if there are some.
        report: Of the committed batch.
        lines: What `to_stdout` sinks have.

    Raises:
        ExecutionError: A function raised.
    """
    for line in lines:
        print(line, flush=True)  # noqa: T201  # what a to_stdout sink is for
    for listener in on_moves if report.moves else ():
        _call("a listener of on_rebalance", listener, report.moves)
    if on_batch is not None:
        _call("on_batch", on_batch, report)


def _call(name: str, function: Callable[[T], None], argument: T) -> None:
    try:
        function(argument)
    except Exception as exc:
        raise ExecutionError(
            f"{name} raised {kind_of(exc)}: {text_of(exc)}",
            hint="the batch is committed; fix the function and restart.",
        ) from exc
