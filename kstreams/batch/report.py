"""What an app reports to its watchers: states and committed batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from kstreams.errors import ExecutionError
from kstreams.quoting import kind_of, text_of
from kstreams.state.log.totals import NodeCounts, Totals
from kstreams.state.log.traffic import Traffic

__all__ = ("AppState", "BatchReport", "report_batch")


class AppState(Enum):
    """What an app is doing, in order; `FAILED` may follow any but `STOPPED`."""

    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


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


def report_batch(
    on_batch: Callable[[BatchReport], None] | None, report: BatchReport, lines: Sequence[str]
) -> None:
    """Print what a batch has for the standard output, then call the user's function.

    Args:
        on_batch: The function, if there is one.
        report: Of the committed batch.
        lines: What `to_stdout` sinks have.

    Raises:
        ExecutionError: The function raised.
    """
    for line in lines:
        print(line, flush=True)  # noqa: T201  # what a to_stdout sink is for
    if on_batch is None:
        return
    try:
        on_batch(report)
    except Exception as exc:
        raise ExecutionError(
            f"on_batch raised {kind_of(exc)}: {text_of(exc)}",
            hint="the batch is committed; fix on_batch and restart.",
        ) from exc
