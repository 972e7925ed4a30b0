"""The recent activity of an app from its batch reports: rates, time per node, a time line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kstreams.batch.report import BatchReport
from kstreams_serve.pages.recordings import Recording

__all__ = ("Activity", "activity_of")

_WINDOW_MS = 15_000
_LEAST_BATCHES = 3
_LINE_MS = 120_000
_SLOTS = 40


@dataclass(frozen=True)
class Activity:
    """The recent activity of an app; empty without reports.

    Attributes:
        is_recorded: Whether there are reports.
        rate_in: Records read from topics per second.
        rate_out: Records written by sinks per second; None if sinks are unknown.
        rates: Input records per second, by node.
        shares: The sampled share of each node in the time of all tasks, 0 to 1.
        line_in: `rate_in` in each of the equal intervals of the last two minutes, oldest first.
        line_out: `rate_out` in the same intervals.
        line_lag: The number of unread records after each of the last batches, oldest first.
        latency_ms: The 99th percentile of the ages of records at their commit.
        batch_seconds: The mean time of a batch from its call to its commit.
    """

    is_recorded: bool = False
    rate_in: float | None = None
    rate_out: float | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    line_in: Sequence[float] = ()
    line_out: Sequence[float] = ()
    line_lag: Sequence[float] = ()
    latency_ms: int | None = None
    batch_seconds: float | None = None


def activity_of(recording: Recording, now_ms: int) -> Activity:
    """Return the recent activity of an app.

    Args:
        recording: The telemetry.
        now_ms: The current time, ms since the epoch.
    """
    reports = recording.batches
    if not reports:
        return Activity()
    recent = [report for report in reports if report.committed_ms > now_ms - _WINDOW_MS]
    if len(recent) < _LEAST_BATCHES:
        recent = reports[-_LEAST_BATCHES:]
    first = recent[0]
    begun = first.committed_ms - round(1000 * (first.seconds + first.phases.get("wait", 0.0)))
    span = max(now_ms - begun, recent[-1].committed_ms - begun, 1) / 1000
    outline = recording.outline
    sinks = None if outline is None else {
        node.name for group in outline.groups for node in group.nodes if node.kind == "sink"
    }  # fmt: skip
    came: Counter[str] = Counter()
    for report in recent:
        came.update({node: counts.records_in for node, counts in report.nodes.items()})
    latencies = [report.latency for report in recent]
    latency = sum(latencies[1:], start=latencies[0])
    return Activity(
        is_recorded=True,
        rate_in=sum(report.source_records for report in recent) / span,
        rate_out=None
        if sinks is None
        else sum(_written(report, sinks) for report in recent) / span,
        rates={node: count / span for node, count in came.items()},
        shares=_shares(reports),
        line_in=_line(reports, now_ms, lambda report: report.source_records),
        line_out=[]
        if sinks is None
        else _line(reports, now_ms, lambda each: _written(each, sinks)),
        line_lag=[float(report.backlog) for report in reports[-_SLOTS:]],
        latency_ms=latency.quantile_ms(0.99),
        batch_seconds=sum(report.seconds for report in recent) / len(recent),
    )


def _written(report: BatchReport, sinks: Iterable[str]) -> int:
    return sum(report.nodes[sink].records_out for sink in sinks if sink in report.nodes)


def _line(
    reports: Sequence[BatchReport], now_ms: int, number: Callable[[BatchReport], int]
) -> list[float]:
    """Return `number` of the reports, per second, in equal intervals of the last two minutes."""
    part_ms = _LINE_MS // _SLOTS
    found = [0.0] * _SLOTS
    for report in reports:
        place = _SLOTS - 1 - (now_ms - report.committed_ms) // part_ms
        if 0 <= place < _SLOTS:
            found[place] += number(report) * 1000 / part_ms
    return found


def _shares(reports: Sequence[BatchReport]) -> dict[str, float]:
    """Return each node's share of the sampled time, without an entry for the engine itself."""
    found: Counter[str] = Counter()
    for report in reports:
        found.update(report.node_seconds)
    total = sum(found.values())
    return {node: seconds / total for node, seconds in found.items() if node} if total else {}
