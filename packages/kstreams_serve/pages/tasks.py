"""The page of an app's tasks: their lag, their work, and their stream time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kstreams.batch.report import TaskReport
from kstreams.ids import TaskId, TopicPartition
from kstreams.task.progress.task_meta import NO_TIME
from kstreams.telemetry.unread import Unread
from kstreams_admin.status import QueryStatus
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.phases import TASK_PHASES, Phase, phases_of
from kstreams_serve.pages.recordings import Recording
from kstreams_serve.pages.tables import Column, Sorting, paged, sorting_in
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.served_app import ServedApp

__all__ = ("TaskLine", "TaskWork", "task_lines", "task_works", "tasks")

_WAITS_SECONDS = 10.0
_SKEW = 2.0
_BATCHES = 30


@dataclass(frozen=True)
class TaskWork:
    """The work of a task in the last recorded batches.

    Attributes:
        records: The mean number of records per batch.
        busy: The mean seconds per batch.
        phases: The mean time of each phase, as a bar.
        worker: The last worker.
        attempts: The number of attempts of the last batch.
        restored: Whether the last batch had to restore the task's state.
    """

    records: float
    busy: float
    phases: Sequence[Phase]
    worker: str
    attempts: int
    restored: bool


@dataclass(frozen=True)
class TaskLine:
    """A task in a table.

    Attributes:
        task: The task.
        lag: The unread records of its partitions; None if unknown.
        oldest_ms: The timestamp of the first unread record.
        stream_ms: The stream time, ms; None before any record.
        waits: The seconds that its stream time is behind that of the most advanced task of its
            group, if the difference is large.
        state_bytes: The compressed size of its state in the durable log.
        skewed: Whether the size is far above the mean of its group.
        work: The recent work; None if not recorded.
    """

    task: TaskId
    lag: int | None
    oldest_ms: int | None
    stream_ms: int | None
    waits: float
    state_bytes: int
    skewed: bool
    work: TaskWork | None = None

    @property
    def name(self) -> str:
        """The group and the partition of the task."""
        return str(self.task)


def task_lines(
    statuses: Iterable[QueryStatus], lag: Mapping[TopicPartition, Unread] | None
) -> list[TaskLine]:
    """Return the known data of each task.

    Args:
        statuses: The last commits.
        lag: The lag by partition, if it is known.
    """
    return [
        line
        for status in statuses
        for group in _groups(status).values()
        for line in _lines_of_group(group, status, lag)
    ]


def _groups(status: QueryStatus) -> dict[str, list[TaskId]]:
    found: dict[str, list[TaskId]] = {}
    for task in sorted(status.state_bytes):
        found.setdefault(task.group, []).append(task)
    return found


def _lines_of_group(
    group: Sequence[TaskId], status: QueryStatus, lag: Mapping[TopicPartition, Unread] | None
) -> list[TaskLine]:
    times = {task: status.metas[task].stream_time for task in group}
    furthest = max(times.values())
    mean = sum(status.state_bytes[task] for task in group) / len(group)
    found: list[TaskLine] = []
    for task in group:
        waits = (furthest - times[task]) / 1000 if times[task] != NO_TIME else 0.0
        size = status.state_bytes[task]
        own = [] if lag is None else [
            lag[place] for place in status.metas[task].next_offsets if place in lag
        ]  # fmt: skip
        found.append(
            TaskLine(
                task,
                sum(each.records for each in own) if own else None,
                min((each.oldest_ms for each in own if each.oldest_ms is not None), default=None),
                None if times[task] == NO_TIME else times[task],
                waits if waits > _WAITS_SECONDS else 0.0,
                size,
                len(group) > 1 and size > _SKEW * mean,
            )
        )
    return found


def task_works(recording: Recording) -> dict[TaskId, TaskWork]:
    """Return the mean records and seconds per batch of each task, over the last batches."""
    found: dict[TaskId, list[TaskReport]] = {}
    for reports in recording.reports.values():
        for report in reports[-_BATCHES:]:
            for task in report.tasks:
                found.setdefault(task.task, []).append(task)
    return {task: _work(reports) for task, reports in found.items()}


def _work(reports: Sequence[TaskReport]) -> TaskWork:
    seconds: Counter[str] = Counter()
    for report in reports:
        seconds.update(report.seconds)
    count, last = len(reports), reports[-1]
    return TaskWork(
        sum(report.records for report in reports) / count,
        sum(seconds.values()) / count,
        phases_of({name: total / count for name, total in seconds.items()}, TASK_PHASES),
        last.worker,
        last.attempts,
        last.restored,
    )


_COLUMNS = (
    Column("Task", "task"),
    Column("Lag", "lag", "number"),
    Column("Stream time", "time", "number"),
    Column("State", "state", "number"),
)
_WORK_COLUMNS = (
    Column("Records per batch", "records", "number"),
    Column("Busy time per batch", "busy", "number"),
    Column("Worker"),
)
_KEYS: Mapping[str, Callable[[TaskLine], Any]] = {
    "task": lambda line: line.task,
    "lag": lambda line: line.lag,
    "time": lambda line: line.stream_ms,
    "state": lambda line: line.state_bytes,
    "records": lambda line: None if line.work is None else line.work.records,
    "busy": lambda line: None if line.work is None else line.work.busy,
}


async def tasks(visit: Visit, _: ServedApp, facts: AppFacts) -> Page:
    """Return the page of the tasks."""
    given = visit.given(("sort", "down", "find", "page"))
    sorting = sorting_in(given, list(_KEYS), first="task")
    return await asyncio.to_thread(_page, facts, sorting)


def _page(facts: AppFacts, sorting: Sorting) -> Page:
    works = task_works(facts.recording)
    lines = [replace(line, work=works.get(line.task))
             for line in task_lines(facts.statuses, facts.lag)]  # fmt: skip
    pages = paged(lines, sorting, _KEYS[sorting.by], lambda line: line.name)
    content = {
        "columns": (*_COLUMNS, *(_WORK_COLUMNS if works else ())),
        "sort": sorting,
        "pages": pages,
        "total": len(lines),
        "lag_known": facts.lag is not None,
        "works": bool(works),
        "phases": TASK_PHASES,
    }
    return Page("tasks.html", "Tasks", content, tab="Tasks")
