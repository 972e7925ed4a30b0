"""The problems of an app, the worst first: its lag, its slow nodes and its losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from kstreams.ids import TaskId
from kstreams.quoting import one_line
from kstreams.task.progress.task_meta import NO_TIME
from kstreams_admin.status import QueryStatus
from kstreams_serve.pages import texts
from kstreams_serve.pages.app_facts import AppFacts, Tone

__all__ = ("Finding", "worst_first")

_MOST = 6
_LAG_SHARE = 0.4
_TIME_SHARE = 0.4
_LATE_MS = 10_000
_SKEW = 2.0
_LARGE_BYTES = 10_000_000
_QUIET_MS = 60_000


@dataclass(frozen=True)
class Finding:
    """A problem that deserves attention.

    Attributes:
        text: The problem, in a sentence.
        tone: The severity.
        href: The page with details, relative to the app's pages.
        more: The text of the link.
        weight: The rank; larger ones come first.
    """

    text: str
    tone: Tone
    href: str
    more: str
    weight: float


def worst_first(facts: AppFacts, shares: Mapping[str, float], now_ms: int) -> Sequence[Finding]:
    """Return the problems of an app, the worst first.

    Args:
        facts: The data of the app.
        shares: Each node's share of the processing time, 0 to 1; empty if not recorded.
        now_ms: The current time, ms since the epoch.
    """
    found = [
        *_silence(facts, now_ms),
        *_lag(facts),
        *_losses(facts),
        *_time(shares),
        *_stream_time(facts),
        *_skew(facts),
    ]
    return sorted(found, key=lambda each: -each.weight)[:_MOST]


def _silence(facts: AppFacts, now_ms: int) -> Iterator[Finding]:
    """Yield problems of apps without recent telemetry, or with unread records but no commits."""
    if facts.state.tone == "bad":
        live = facts.recording.live
        said = f"The app is {facts.state.word}"
        if live is not None:
            said += f"; its last telemetry was written {texts.age(live.written_ms, now_ms)}"
        yield Finding(said, "bad", "/errors", "Errors", 100)
    if facts.pause is not None or not facts.behind or facts.wall_ms is None:
        return
    quiet = now_ms - facts.wall_ms
    if quiet > _QUIET_MS:
        text = (
            f"{texts.count(facts.behind)} unread records, and no commit for "
            f"{texts.seconds(quiet / 1000)}"
        )
        yield Finding(text, "bad", "/batches", "Batches", 90)


def _lag(facts: AppFacts) -> Iterator[Finding]:
    lag = facts.lag or {}
    total = sum(each.records for each in lag.values())
    if not total:
        return
    place, most = max(lag.items(), key=lambda pair: pair[1].records)
    part = most.records / total
    if part >= _LAG_SHARE and len(lag) > 1:
        text = (
            f"Partition {one_line(str(place), 80)} holds {texts.share(part)} of the lag "
            f"({texts.count(most.records)} of {texts.count(total)})"
        )
        yield Finding(text, "warn", f"/tasks?{urlencode({'sort': 'lag'})}", "Tasks", 60 + 20 * part)


def _losses(facts: AppFacts) -> Iterator[Finding]:
    for status in facts.statuses:
        for node, counts in status.totals.nodes.items():
            if not counts.lost:
                continue
            part = counts.lost / max(counts.records_in, counts.lost)
            reasons = ", ".join(
                f"{texts.count(count)} {one_line(reason, 60)}"
                for reason, count in sorted(counts.dropped.items(), key=lambda pair: -pair[1])[:3]
            )
            whole = f"{texts.share(part)} of its input"
            text = f"Node {one_line(node, 80)} has dropped {reasons} ({whole})"
            yield Finding(text, "warn", "/dropped", "Dropped", 40 + 40 * part)


def _time(shares: Mapping[str, float]) -> Iterator[Finding]:
    if not shares:
        return
    node, part = max(shares.items(), key=lambda pair: pair[1])
    if part >= _TIME_SHARE and len(shares) > 1:
        href = f"/node?{urlencode({'name': node})}"
        text = f"Node {one_line(node, 80)} takes {texts.share(part)} of the processing time"
        yield Finding(text, "quiet", href, "Node", 20 + 20 * part)


def _stream_time(facts: AppFacts) -> Iterator[Finding]:
    """Yield problems of tasks that are behind the others of their group in stream time."""
    for group, times in _times_by_group(facts.statuses).items():
        known = {task: time for task, time in times.items() if time != NO_TIME}
        if len(known) < 2:  # to compare
            continue
        task, oldest = min(known.items(), key=lambda pair: pair[1])
        behind = max(known.values()) - oldest
        if behind > _LATE_MS:
            text = (
                f"Stream time of {one_line(str(task), 80)} is {texts.seconds(behind / 1000)} "
                f"behind the most advanced task of {one_line(group, 60)}"
            )
            href = f"/tasks?{urlencode({'sort': 'time', 'down': 'false'})}"
            yield Finding(text, "quiet", href, "Tasks", 15)


def _skew(facts: AppFacts) -> Iterator[Finding]:
    for status in facts.statuses:
        groups: dict[str, dict[TaskId, int]] = {}
        for task, size in status.state_bytes.items():
            groups.setdefault(task.group, {})[task] = size
        for sizes in groups.values():
            task, largest = max(sizes.items(), key=lambda pair: pair[1])
            mean = sum(sizes.values()) / len(sizes)
            if len(sizes) > 1 and largest > _LARGE_BYTES and largest > _SKEW * mean:
                text = (
                    f"Task {one_line(str(task), 80)} has {texts.size(largest)} of state, "
                    f"{largest / mean:.1f} times the mean of its group"
                )
                yield Finding(text, "quiet", "/tasks?sort=state", "Tasks", 10)


def _times_by_group(statuses: Sequence[QueryStatus]) -> dict[str, dict[TaskId, int]]:
    found: dict[str, dict[TaskId, int]] = {}
    for status in statuses:
        for task, meta in status.metas.items():
            found.setdefault(task.group, {})[task] = meta.stream_time
    return found
