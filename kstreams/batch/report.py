"""The reports of an app to its listeners: its state and its committed batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from kstreams.batch.messages.latency import Latency
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
"""The argument type of a function."""


class AppState(Enum):
    """The state of an app, in order; `FAILED` may follow any state except `STOPPED`."""

    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class TaskReport:
    """The report of one task in a batch.

    Attributes:
        task: The id of the task.
        records: The number of processed records.
        seconds: The seconds by phase: `read`, `restore`, `process`, `write`, `commit`.
        put_bytes: The bytes that the task wrote to the durable log.
        worker: The machine and process of the worker.
        attempts: The number of attempts.
        restored: Whether the state was restored from the durable log.
        node_seconds: The sampled seconds of nodes: correct over many batches, empty for most short
            batches. Work outside of nodes has the name "".
        began_ms: The start of reading by the worker's clock, ms since the epoch.
        rows: The number of rows of each store before the batch, approximate in some backends.
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
        query: The name of the query.
        batch: The number of the batch.
        records: The number of processed records, counted for each stage.
        source_records: The number of processed records that came from topics.
        dropped: The number of dropped records, by reason.
        published: The number of published segments.
        seconds: The time from the call of the batch to the end of its commit.
        backlog: The number of records that were known at the planning of the batch and are not part
            of it or of an earlier batch.
        log: The number and bytes of requests to the durable log: those of the batch's tasks, and
            those of the driver since the last report.
        looped: The number of records in loops for the next batch.
        nodes: The number of input, output and dropped records of each node.
        totals: The counts of nodes over all batches, with held-back records, as in the commit: a
            crash counts nothing twice.
        committed_ms: The time of the commit, ms since the epoch.
        phases: Seconds by phase: `wait` since the previous batch, `plan`, `job`, `commit`,
            `publish`.
        tasks: The reports of the batch's tasks.
        lag: The number of unread known offsets of each partition at the commit.
        latency: The ages of the read records at the commit.
        samples: Samples of dropped records, with topic, partition and offset.
        jobs: The number of Spark jobs: more than one if a worker died, or if the batch was planned
            smaller.
        topics: The records and bytes that were read from and written to each topic.
        moves: The tasks that ran on another worker than before, including first batches.
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
        """The sampled seconds of nodes; work outside of nodes has the name ""."""
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
    """Print the lines of a batch, then call the user's functions.

    Args:
        on_batch: Called with the report; None: nothing is called.
        on_moves: Called with the `moves` of the report, if there are any.
        report: The report of the committed batch.
        lines: The lines of `to_stdout` sinks.

    Raises:
        ExecutionError: A function raised.
    """
    for line in lines:
        print(line, flush=True)  # noqa: T201  # a to_stdout sink prints
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
