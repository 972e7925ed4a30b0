"""A drawn topology with its input, and the result of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kstreams.processors import Headers
from kstreams.state.log.totals import NodeCounts
from tests.support.generated.topology_plan import Plan

__all__ = ("Batch", "Case", "RawRecord", "Result", "Row", "recut")

Row = tuple["bytes | None", "bytes | None", int, Headers]
"""Key, value, timestamp, headers."""


@dataclass(frozen=True)
class RawRecord:
    """A record as stored in a topic."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()


@dataclass(frozen=True)
class Batch:
    """The records of one micro-batch in the order of writing, and its wall-clock time."""

    records: tuple[RawRecord, ...]
    wall_ms: int = 0


@dataclass(frozen=True)
class Case:
    """A run to do: the topology of `plan`, its topics with `plan.partitions`, and the batches."""

    plan: Plan
    batches: tuple[Batch, ...]

    @property
    def records(self) -> tuple[RawRecord, ...]:
        """All records of all batches."""
        return tuple(record for batch in self.batches for record in batch.records)

    def describe(self) -> str:
        """Return a description of the case, printed when results differ."""
        lines = [self.plan.describe()]
        for number, batch in enumerate(self.batches):
            lines.append(f"batch {number} at {batch.wall_ms}")
            lines.extend(f"  {record}" for record in batch.records)
        return "\n".join(lines)


@dataclass
class Result:
    """The result of a run.

    Attributes:
        outputs: Rows by topic and partition, in the order of writing.
        stores: Contents by store name, over all partitions.
        dropped: Number of dropped records by reason.
        nodes: Number of records received and forwarded by each node.
    """

    outputs: dict[tuple[str, int], list[Row]] = field(default_factory=dict)
    stores: dict[str, dict[Any, Any]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, NodeCounts] = field(default_factory=dict)

    def by_task(self) -> dict[tuple[Any, ...], list[Row]]:
        """Return rows by topic, partition and the task that wrote them.

        The interleaving of several tasks' rows is not guaranteed. Dead letters of repartition edges
        are sorted and have no offsets, because those are counted again in each batch.
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
    """Return the case with its records cut into other batches, after these numbers of records."""
    records = case.records
    places = [0, *sorted({cut % (len(records) + 1) for cut in cuts}), len(records)]
    batches = [Batch(records[start:end]) for start, end in pairwise(places) if end > start]
    return Case(case.plan, tuple(batches))
