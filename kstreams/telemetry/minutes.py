"""`minutes.jsonl`: the sums of each query's batches by minute, for the last days.

    {"f": 1, "q": "lines", "ms": 1700000040000,   when the minute began, ms since the epoch
     "batches": 60, "rec": [9951, 1227], "secs": [12.5, 0.9],      all batches, the longest
     "s": {"wait": 47.1, "plan": .1, "job": 11, "commit": .2, "publish": .6},
     "nodes": {"count": [9951, 9951, 0, {"late": 3}]}, "busy": {"count": 7.9, "": .6},
     "lag": 812,                                  the largest lag after a batch
     "lat": {"counts": [0, 3, ..], "sum_ms": 90}, "log": [5, 13789, 0, 0, 0, 0]}

Fields are as in `report_lines.py`. A minute without a batch has no line. If the app was restarted
within a minute, the minute has two lines, which the reader adds up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.batch.messages.latency import Latency
from kstreams.batch.report import BatchReport
from kstreams.state.log.fields import Fields, checked_integer
from kstreams.state.log.totals import NodeCounts, summed
from kstreams.state.log.traffic import Traffic
from kstreams.telemetry.report_lines import checked_seconds

__all__ = ("MINUTE_MS", "Minute")

MINUTE_MS = 60_000
_DIGITS = 6


@dataclass(frozen=True)
class Minute:
    """The batches of a query that were committed in one minute.

    Attributes:
        query: Name of the query.
        start_ms: Start of the minute, ms since the epoch.
        batches: Number of batches.
        records: Number of processed records; a record counts once in each group that processes it.
        source_records: Number of records from topics.
        seconds: Total duration of the batches, s.
        longest: Duration of the longest batch, s.
        phases: Seconds by phase.
        nodes: Records in, out and dropped by node.
        node_seconds: Seconds by node, estimated from samples.
        lag: The largest number of unread offsets after a batch.
        latency: Latency of the source records.
        log: Requests to the durable log.
    """

    query: str
    start_ms: int
    batches: int = 0
    records: int = 0
    source_records: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    nodes: Mapping[str, NodeCounts] = field(default_factory=dict)
    node_seconds: Mapping[str, float] = field(default_factory=dict)
    lag: int = 0
    latency: Latency = field(default_factory=Latency)
    log: Traffic = field(default_factory=Traffic)

    @classmethod
    def of(cls, report: BatchReport) -> Minute:
        """Return a minute that contains only the batch of a report."""
        return cls(
            report.query,
            report.committed_ms // MINUTE_MS * MINUTE_MS,
            1,
            report.records,
            report.source_records,
            report.seconds,
            report.seconds,
            report.phases,
            report.nodes,
            report.node_seconds,
            report.backlog,
            report.latency,
            report.log,
        )

    def __add__(self, other: Minute) -> Minute:
        """Return the sums of two objects of the same query and minute."""
        return Minute(
            self.query,
            self.start_ms,
            self.batches + other.batches,
            self.records + other.records,
            self.source_records + other.source_records,
            self.seconds + other.seconds,
            max(self.longest, other.longest),
            Counter(self.phases) + Counter(other.phases),
            summed([self.nodes, other.nodes]),
            Counter(self.node_seconds) + Counter(other.node_seconds),
            max(self.lag, other.lag),
            self.latency + other.latency,
            self.log + other.log,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON data."""
        return {
            "q": self.query,
            "ms": self.start_ms,
            "batches": self.batches,
            "rec": [self.records, self.source_records],
            "secs": [round(self.seconds, _DIGITS), round(self.longest, _DIGITS)],
            "s": {phase: round(seconds, _DIGITS) for phase, seconds in self.phases.items()},
            "nodes": {name: counts.bounded().to_json() for name, counts in self.nodes.items()},
            "busy": {node: round(seconds, _DIGITS) for node, seconds in self.node_seconds.items()},
            "lag": self.lag,
            "lat": self.latency.to_json(),
            "log": self.log.to_json(),
        }

    @classmethod
    def from_json(cls, fields: Fields) -> Minute:
        """Parse the result of `to_json`; a `ValueError` describes the first wrong field."""
        records, source_records = (checked_integer(n, "a count") for n in fields.items("rec"))
        total, longest = fields.items("secs")
        seconds = checked_seconds({"total": total, "longest": longest})
        return cls(
            fields.text("q"),
            fields.integer("ms"),
            fields.integer("batches"),
            records,
            source_records,
            seconds["total"],
            seconds["longest"],
            checked_seconds(fields.mapping("s")),
            {name: NodeCounts.from_json(c) for name, c in fields.mapping("nodes").items()},
            checked_seconds(fields.mapping("busy")),
            fields.integer("lag"),
            Latency.from_json(fields.anything("lat")),
            Traffic.from_json(checked_integer(n, "a count") for n in fields.items("log")),
        )
