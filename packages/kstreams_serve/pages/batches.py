"""The page of batch durations, and the page with the details of one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from kstreams.batch.report import BatchReport, TaskReport
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.errors import ObjectMissingError
from kstreams.quoting import repr_of
from kstreams.state.log.commits import Commit
from kstreams.state.log.fields import MOST
from kstreams_admin.telemetry_reader import TelemetryReader
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.phases import BATCH_PHASES, TASK_PHASES, Phase, phases_of
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.problems import Problem
from kstreams_serve.served_app import ServedApp

__all__ = ("batch", "batches")

_SHOWN = 30
_READ = 4000
_TASKS = 50
_PARTITIONS = 50


@dataclass(frozen=True)
class _Bar:
    """The bar of a batch in a time line.

    Attributes:
        number: The number of the batch.
        start: The position where the bar starts, as a share of the time line.
        part: The length of the bar, as a share of the time line.
        phases: The phases of the batch, as parts of the bar.
        label: The description of the batch.
    """

    number: int
    start: float
    part: float
    phases: Sequence[Phase]
    label: str


@dataclass(frozen=True)
class _BatchLine:
    number: int
    committed_ms: int
    records: int
    source_records: int
    seconds: float
    phases: Sequence[Phase]
    left: int
    dropped: int
    jobs: int


@dataclass(frozen=True)
class _ReadLine:
    place: str
    start: int
    end: int


@dataclass(frozen=True)
class _TaskLine:
    task: str
    records: int
    seconds: float
    phases: Sequence[Phase]
    put_bytes: int
    worker: str
    attempts: int
    restored: bool

    @classmethod
    def of(cls, report: TaskReport, longest: float) -> _TaskLine:
        """Return the line of a task, with its bar in proportion to the longest task."""
        seconds = sum(report.seconds.values())
        phases = phases_of(report.seconds, TASK_PHASES, longest)
        return cls(str(report.task), report.records, seconds, phases, report.put_bytes,
                   report.worker, report.attempts, report.restored)  # fmt: skip


async def batches(visit: Visit, app: ServedApp, facts: AppFacts) -> Page:
    """Return the page of a query's batches, newest first."""
    given = visit.given(("query", "before"))
    queries = sorted(app.checkpoint.queries)
    query = _query(queries, given.get("query"))
    before = given.whole("before", 0, MOST)
    return await asyncio.to_thread(_batches_page, app, facts, queries, query, before, visit.now_ms)


def _query(queries: Sequence[str], wanted: str | None) -> str:
    if wanted is None:
        return queries[0]
    if wanted not in queries:
        raise Problem(404, f"the app has no query {repr_of(wanted, 80)}")
    return wanted


def _batches_page(
    app: ServedApp,
    facts: AppFacts,
    queries: Sequence[str],
    query: str,
    before: int | None,
    now_ms: int,
) -> Page:
    if before is None:
        found = list(facts.recording.reports.get(query, ()))
    else:
        reports = TelemetryReader(app.home).reports(query, _READ)
        found = [report for report in reports if report.batch < before]
    shown = found[-_SHOWN:]
    longest = max((report.seconds for report in shown), default=0.0)
    live = facts.recording.live
    is_now = before is None and live is not None and live.is_current(now_ms)
    content = {
        "query": query,
        "queries": queries,
        "bars": _bars(shown),
        "lines": [_line(report, longest) for report in reversed(shown)],
        "older": shown[0].batch if len(found) > len(shown) else None,
        "is_newest": before is None,
        "phases": [name for name in BATCH_PHASES if name != "wait"],
        "now": live.queries.get(query) if live is not None and is_now else None,
        "span_ms": shown[-1].committed_ms - shown[0].committed_ms if shown else 0,
    }
    return Page("batches.html", "Batches", content, tab="Batches")


def _line(report: BatchReport, longest: float) -> _BatchLine:
    worked = {name: seconds for name, seconds in report.phases.items() if name != "wait"}
    return _BatchLine(
        report.batch,
        report.committed_ms,
        report.records,
        report.source_records,
        report.seconds,
        phases_of(worked, BATCH_PHASES, max(longest, sum(worked.values()))),
        report.backlog,
        sum(report.dropped.values()),
        report.jobs,
    )


def _bars(reports: Sequence[BatchReport]) -> list[_Bar]:
    """Return the bars of batches along a time axis; gaps are waits between batches."""
    if not reports:
        return []
    begun = reports[0].committed_ms / 1000 - reports[0].seconds
    span = max(reports[-1].committed_ms / 1000 - begun, 1e-3)
    found: list[_Bar] = []
    for report in reports:
        worked = {name: seconds for name, seconds in report.phases.items() if name != "wait"}
        start = (report.committed_ms / 1000 - report.seconds - begun) / span
        label = f"Batch {report.batch:,}: {report.source_records:,} records, {report.seconds:.3f} s"
        part = max(report.seconds / span, 0.002)
        found.append(_Bar(report.batch, max(start, 0.0), part,
                          phases_of(worked, BATCH_PHASES), label))  # fmt: skip
    return found


async def batch(visit: Visit, app: ServedApp, facts: AppFacts) -> Page:
    """Return the page of one batch."""
    given = visit.given(("query", "number"))
    query = _query(sorted(app.checkpoint.queries), given.required("query"))
    given.required("number")
    number = given.whole("number", 0, MOST) or 0
    return await asyncio.to_thread(_batch_page, app, facts, query, number)


def _batch_page(app: ServedApp, facts: AppFacts, query: str, number: int) -> Page:
    recent = facts.recording.reports.get(query, ())
    reports = [report for report in recent if report.batch == number] or [
        report for report in TelemetryReader(app.home).reports(query, _READ)
        if report.batch == number
    ]  # fmt: skip
    report = reports[-1] if reports else None
    commits = app.checkpoint.commits(query, app.objects())
    retained = commits.batches()
    commit = _commit(app.checkpoint, app, query, number)
    before = _commit(app.checkpoint, app, query, number - 1)
    if report is None and commit is None:
        newest = retained[-1] if retained else None
        first = next((each.batch for each in recent), retained[0] if retained else None)
        hint = "" if newest is None else f"batches {first:,} to {newest:,} are recorded."
        raise Problem(404, f"batch {number:,} of query {query!r} is not recorded", hint=hint)
    read = _offsets(before, commit)
    tasks = () if report is None else report.tasks
    longest = max((sum(task.seconds.values()) for task in tasks), default=0.0)
    ordered = sorted(tasks, key=lambda task: -sum(task.seconds.values()))
    content = {
        "query": query,
        "number": number,
        "report": report,
        "commit": commit,
        "bar": [] if report is None else phases_of(report.phases, BATCH_PHASES),
        "tasks": [_TaskLine.of(task, longest) for task in ordered[:_TASKS]],
        "more_tasks": max(0, len(tasks) - _TASKS),
        "phases": BATCH_PHASES,
        "task_phases": TASK_PHASES,
        "read": read[:_PARTITIONS],
        "more_read": max(0, len(read) - _PARTITIONS),
        "has_before": before is not None or any(each.batch == number - 1 for each in recent),
        "has_after": (bool(retained) and number < retained[-1]),
        "latency_ms": None if report is None else report.latency.quantile_ms(0.99),
    }
    return Page("batch.html", f"Batch {number:,}", content, tab="Batches", is_live=False)


def _commit(checkpoint: Checkpoint, app: ServedApp, query: str, number: int) -> Commit | None:
    if number < 0:
        return None
    try:
        return checkpoint.commits(query, app.objects()).at(number)
    except ObjectMissingError:
        return None


def _offsets(before: Commit | None, commit: Commit | None) -> list[_ReadLine]:
    """Return the offset range of a batch by partition, largest first; empty if not known."""
    if commit is None or (before is None and commit.batch > 0):
        return []
    start = {} if before is None else before.positions
    lines = [
        _ReadLine(str(place), start.get(place, 0), end)
        for place, end in sorted(commit.positions.items())
        if end > start.get(place, 0)
    ]
    return sorted(lines, key=lambda line: line.start - line.end)
