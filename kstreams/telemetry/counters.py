"""`counters.json`: sums since the start of the app, for metrics.

    {"f": 1, "run": "9f0c..", "since_ms": .., "queries": {"lines": {
        "batches": 1235,
        "durations": {"job": {"counts": [0, 3, ..], "sum_s": 90.5}, "wait": ..},
        "latency": {"counts": [0, 3, ..], "sum_ms": 90},
        "tasks": {"by-word/3": {"read": 1.5, "process": 70.1, ..}},
        "nodes": {"count": 60.2, "": 3.1},
        "restores": {"by-word": [4, 1.2]}, "rows": {"counts": {"by-word/3": 1200}},
        "log": [5, 13789, 0, 0, 0, 0], "moves": 4}}}

The seconds of nodes are estimated from samples. `restores` has the number and the total seconds of
each group's restores. The sums start at zero with each start of the app; exact totals are in the
commits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.batch.messages.latency import Latency
from kstreams.batch.messages.worker_times import RESTORE
from kstreams.batch.report import BatchReport
from kstreams.ids import TaskId, parse_keys, text_keys
from kstreams.state.log.fields import Fields, WrongFieldError, checked_integer
from kstreams.state.log.traffic import Traffic
from kstreams.telemetry.report_lines import checked_seconds

__all__ = ("DURATION_BOUNDS_S", "Counters", "Durations", "QueryCounters")

DURATION_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds of the buckets, seconds; the last bucket, without a bound, has longer durations."""

_DIGITS = 6


@dataclass
class Durations:
    """A histogram of durations.

    Attributes:
        counts: Number of durations up to each bound of `DURATION_BOUNDS_S` and above the previous
            bound; the last number is for longer durations.
        sum_s: Sum of all durations, s.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(DURATION_BOUNDS_S) + 1))
    sum_s: float = 0.0

    def add(self, seconds: float) -> None:
        """Add a duration in seconds."""
        self.counts[bisect_left(DURATION_BOUNDS_S, seconds)] += 1
        self.sum_s += seconds

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON data."""
        return {"counts": list(self.counts), "sum_s": round(self.sum_s, _DIGITS)}

    @classmethod
    def from_json(cls, data: object) -> Durations:
        """Parse the result of `to_json`; a `ValueError` describes the first wrong field."""
        fields = Fields(data)
        counts = [checked_integer(n, "a count of durations") for n in fields.items("counts")]
        if len(counts) != len(DURATION_BOUNDS_S) + 1:
            expected = len(DURATION_BOUNDS_S) + 1
            raise WrongFieldError(
                f"a histogram of durations has {len(counts)} counts, expected {expected}"
            )
        return cls(counts, checked_seconds({"sum_s": fields.anything("sum_s")})["sum_s"])


@dataclass
class QueryCounters:
    """The sums of one query.

    Attributes:
        batches: Number of committed batches.
        durations: Durations of each phase of a batch.
        latency: Latency of all source records.
        tasks: Seconds by task and phase.
        nodes: Seconds by node.
        restores: By group, the number of restored tasks and the seconds of their restores.
        log: Requests to the durable log.
        rows: By store and task, the number of rows before the last batch of the task.
        moves: Number of moves of tasks to another worker; the first worker of a task is no move.
    """

    batches: int = 0
    durations: dict[str, Durations] = field(default_factory=dict)
    latency: Latency = field(default_factory=Latency)
    tasks: dict[TaskId, Counter[str]] = field(default_factory=dict)
    nodes: Counter[str] = field(default_factory=Counter)
    restores: dict[str, tuple[int, float]] = field(default_factory=dict)
    log: Traffic = field(default_factory=Traffic)
    rows: dict[str, dict[TaskId, int]] = field(default_factory=dict)
    moves: int = 0

    def add(self, report: BatchReport) -> None:
        """Add the report of a batch."""
        self.batches += 1
        for phase, seconds in report.phases.items():
            self.durations.setdefault(phase, Durations()).add(seconds)
        self.latency += report.latency
        self.log += report.log
        self.nodes.update(report.node_seconds)
        self.moves += sum(move.from_worker is not None for move in report.moves)
        for task in report.tasks:
            self.tasks.setdefault(task.task, Counter()).update(task.seconds)
            for store, count in task.rows.items():
                self.rows.setdefault(store, {})[task.task] = count
            if task.restored:
                count, seconds = self.restores.get(task.task.group, (0, 0.0))
                more = task.seconds.get(RESTORE, 0.0)
                self.restores[task.task.group] = count + 1, seconds + more

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON data."""
        return {
            "batches": self.batches,
            "durations": {phase: found.to_json() for phase, found in self.durations.items()},
            "latency": self.latency.to_json(),
            "tasks": text_keys({task: _rounded(found) for task, found in self.tasks.items()}),
            "nodes": _rounded(self.nodes),
            "restores": {group: [n, round(s, _DIGITS)] for group, (n, s) in self.restores.items()},
            "log": self.log.to_json(),
            "rows": {store: text_keys(tasks) for store, tasks in self.rows.items()},
            "moves": self.moves,
        }

    @classmethod
    def from_json(cls, data: object) -> QueryCounters:
        """Parse the result of `to_json`; a `ValueError` describes the first wrong field."""
        fields = Fields(data)
        tasks = parse_keys(TaskId, fields.mapping("tasks"))
        return cls(
            fields.integer("batches"),
            {phase: Durations.from_json(d) for phase, d in fields.mapping("durations").items()},
            Latency.from_json(fields.anything("latency")),
            {task: Counter(checked_seconds(Fields(found).all())) for task, found in tasks.items()},
            Counter(checked_seconds(fields.mapping("nodes"))),
            {group: _restores(found) for group, found in fields.mapping("restores").items()},
            Traffic.from_json(checked_integer(n, "a count") for n in fields.items("log")),
            {
                store: parse_keys(TaskId, Fields(fields.mapping("rows")).integers(store))
                for store in fields.mapping("rows")
            },
            fields.integer("moves", default=0),
        )


@dataclass
class Counters:
    """The sums since the start of an app.

    Attributes:
        run: Id of the driver.
        since_ms: Start of the app, ms since the epoch.
        queries: The sums by query name.
    """

    run: str
    since_ms: int
    queries: dict[str, QueryCounters] = field(default_factory=dict)

    def add(self, report: BatchReport) -> None:
        """Add the report of a batch."""
        self.queries.setdefault(report.query, QueryCounters()).add(report)

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON data."""
        return {
            "run": self.run,
            "since_ms": self.since_ms,
            "queries": {name: found.to_json() for name, found in self.queries.items()},
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Counters:
        """Parse the result of `to_json`; a `ValueError` describes the first wrong field."""
        queries = fields.mapping("queries")
        return cls(
            fields.text("run"),
            fields.integer("since_ms"),
            {name: QueryCounters.from_json(found) for name, found in queries.items()},
        )


def _restores(data: object) -> tuple[int, float]:
    if not isinstance(data, list) or len(data) != 2:
        raise WrongFieldError(f"expected count and total seconds of restores, got {data!r:.80}")
    count, seconds = data
    return checked_integer(count, "a count of restores"), checked_seconds({"s": seconds})["s"]


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in seconds.items()}
