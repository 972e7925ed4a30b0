"""Creates the report of a committed batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kstreams.batch.messages.latency import latency_after
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.progress import BatchTimes
from kstreams.batch.report import BatchReport, TaskReport
from kstreams.batch.task_moves import TaskMove
from kstreams.ids import TopicPartition
from kstreams.state.log.commits import Commit
from kstreams.state.log.topic_counts import summed_topics
from kstreams.state.log.totals import Totals, by_reason, summed
from kstreams.state.log.traffic import Traffic

__all__ = ("report_of",)

_LOG = logging.getLogger(__name__)
_MICROSECONDS = 1_000_000
_MOST_SAMPLES = 50


def report_of(
    query: str,
    commit: Commit,
    statuses: Sequence[TaskStatus],
    *,
    seconds: float,
    planned_ms: int,
    times: BatchTimes,
    lag: Mapping[TopicPartition, int],
    log: Traffic,
    moves: tuple[TaskMove, ...],
) -> BatchReport:
    """Return the report of a batch.

    Args:
        query: The name of the query.
        commit: The commit of the batch.
        statuses: The statuses of its tasks.
        seconds: The time from the call of the batch to the end of its commit.
        planned_ms: The time of the plan, ms since the epoch, at which ages are measured.
        times: The durations by phase, and the number of jobs.
        lag: The number of unread known offsets of each partition.
        log: The number and bytes of the driver's requests to the durable log since the last report.
        moves: The tasks that ran on another worker than before.
    """
    nodes = summed(status.counts for status in statuses)
    ages = (status.numbers.ages for status in statuses)
    samples = (sample for status in statuses for sample in status.numbers.samples)
    log = sum((status.log for status in statuses), log)
    _LOG.debug("query %s, batch %d: durable log: %s", query, commit.batch, log)
    return BatchReport(
        query,
        commit.batch,
        records=sum(status.records for status in statuses),
        source_records=sum(status.source_records for status in statuses),
        dropped=by_reason(nodes),
        published=len(commit.outputs),
        seconds=seconds,
        backlog=sum(lag.values()),
        log=log,
        looped=sum(part.rows for part in commit.loops),
        nodes=nodes,
        totals=commit.totals or Totals(),
        committed_ms=commit.wall_ms,
        phases=times.seconds,
        tasks=tuple(_of_task(status, times.jobs) for status in statuses),
        lag=lag,
        latency=latency_after(ages, commit.wall_ms - planned_ms),
        samples=tuple(samples)[:_MOST_SAMPLES],
        jobs=times.jobs,
        topics=summed_topics(status.topics for status in statuses),
        moves=moves,
    )


def _of_task(status: TaskStatus, jobs: int) -> TaskReport:
    numbers = status.numbers
    return TaskReport(
        status.task,
        status.records,
        {phase: us / _MICROSECONDS for phase, us in numbers.busy_us.items()},
        status.log.put_bytes,
        numbers.worker,
        numbers.attempt + jobs - 1,
        numbers.restored,
        {node: us / _MICROSECONDS for node, us in numbers.nodes_us.items()},
        numbers.rows,
        numbers.began_ms,
    )
