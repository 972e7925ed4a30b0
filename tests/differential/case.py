"""A drawn topology with its input, and what running it gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kstreams.processors import Headers
from kstreams.state.log.totals import NodeCounts
from tests.differential.plan import Plan

__all__ = ("Batch", "Case", "RawRecord", "Result", "Row", "recut")

Row = tuple["bytes | None", "bytes | None", int, Headers]
"""Key, value, timestamp, headers."""


@dataclass(frozen=True)
class RawRecord:
    """A record as it lies in a topic."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()


@dataclass(frozen=True)
class Batch:
    """The records of one micro-batch, in the order of writing, and its wall time."""

    records: tuple[RawRecord, ...]
    wall_ms: int = 0


@dataclass(frozen=True)
class Case:
    """What to run: `plan.topology()`, topics as in `plan.partitions`, and the batches."""

    plan: Plan
    batches: tuple[Batch, ...]

    @property
    def records(self) -> tuple[RawRecord, ...]:
        """All records, whatever the batches."""
        return tuple(record for batch in self.batches for record in batch.records)

    def describe(self) -> str:
        """Show all of it, to be printed when something differs."""
        lines = [self.plan.describe()]
        for number, batch in enumerate(self.batches):
            lines.append(f"batch {number} at {batch.wall_ms}")
            lines.extend(f"  {record}" for record in batch.records)
        return "\n".join(lines)


@dataclass
class Result:
    """What a run gives.

    Attributes:
        outputs: Rows by topic and partition, in the order of writing.
        stores: Contents by store name, over all partitions.
        dropped: Count of dropped records by reason.
        nodes: How many records each node took and gave.
    """

    outputs: dict[tuple[str, int], list[Row]] = field(default_factory=dict)
    stores: dict[str, dict[Any, Any]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, NodeCounts] = field(default_factory=dict)

    def by_task(self) -> dict[tuple[Any, ...], list[Row]]:
        """Return rows by topic, partition and the task that wrote them.

        How the rows of several tasks interleave is no part of any contract. Dead letters
        of repartition edges are sorted and come without their offsets, which are counted
        again in each batch.
        """
        found: dict[tuple[Any, ...], list[Row]] = {}
        for (topic, partition), rows in self.outputs.items():
            for key, value, timestamp, headers in rows:
                names = dict(headers)
                source = names.get("kstreams-error-topic")
                if source is None:
                    task = names.get("task")
                else:
                    task = source + b"/" + (names["kstreams-error-partition"] or b"")
                if source == b"edge":
                    headers = tuple(h for h in headers if h[0] != "kstreams-error-offset")
                place = found.setdefault((topic, partition, source, task), [])
                place.append((key, value, timestamp, headers))
        for (_, _, source, _), rows in found.items():
            if source == b"edge":
                rows.sort(key=repr)
        return found


def recut(case: Case, cuts: Iterable[int]) -> Case:
    """Return the case with its records cut into batches elsewhere: behind so many records."""
    records = case.records
    places = [0, *sorted({cut % (len(records) + 1) for cut in cuts}), len(records)]
    batches = [Batch(records[start:end]) for start, end in pairwise(places) if end > start]
    return Case(case.plan, tuple(batches))
