"""Cases that run side by side in one query of one app."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kstreams import NONE, TEXT, Node, Processor, Topic
from kstreams import TopologyBuilder as Builder
from kstreams.processors.columns import Execution
from tests.support.conformance.case import Case, Input, Output

__all__ = ("Lane", "Run", "Sent", "number_of")


@dataclass(frozen=True)
class Run:
    """A case with an execution."""

    case: Case
    execution: Execution = "records"


@dataclass(frozen=True)
class Sent:
    """A record that is written to a topic."""

    key: bytes | None
    value: bytes | None
    timestamp: int


class Lane(ABC):
    """Cases that share input topics: each has a partition, and so a task, of its own.

    The results of all cases go to one output topic: as JSON, with the number of their case.

    Args:
        name: Suffix of the names of its topics and nodes.
        runs: The cases, numbered from 0.
    """

    sides: tuple[str, ...] = ("in",)
    """The topics of its cases."""

    def __init__(self, name: str, runs: Sequence[Run]) -> None:
        self.name = name
        self.runs = tuple(runs)

    @property
    def output(self) -> str:
        """The topic of the results."""
        return f"out-{self.name}"

    def input(self, side: str) -> str:
        """Return the topic of a side."""
        return f"{side}-{self.name}"

    @abstractmethod
    def add_to(self, builder: Builder) -> None:
        """Add the nodes of all cases."""

    @abstractmethod
    def sent(self, number: int, place: int) -> Sent:
        """Return an input of a case as it is written to its topic."""

    @abstractmethod
    def result(self, number: int, fields: Sequence[Any], timestamp: int) -> Output | None:
        """Return a result of a case, as `_Own` wrote it; None for a late record."""

    def dropped_before(self, row: Input) -> bool:
        """Return whether the source or the join drops a record."""
        return False

    def tables(self, number: int, batch: range) -> Mapping[str, pa.Table]:
        """Return the records of a batch of a case, by topic."""
        found: dict[str, list[Sent]] = defaultdict(list)
        for place in batch:
            side = self.runs[number].case.inputs[place].topic
            found[self.input(side)].append(self.sent(number, place))
        return {topic: _table(rows) for topic, rows in found.items()}

    def add_output(self, builder: Builder, name: str, own: Any, node: Node[Any, Any]) -> None:
        """Write the results of a processor to the output topic of the lane."""
        supplier: type[Processor[Any, Any, None, str]] = own
        end = builder.add_processor(f"own-{name}", supplier, node)
        builder.add_sink(f"out-{name}", Topic(self.output, NONE, TEXT), end)


def number_of(key: bytes, partitions: int) -> int:
    """Return the partition from the number before a key: records of a case stay together."""
    return int(key.partition(b":")[0]) % partitions


def _table(rows: Sequence[Sent]) -> pa.Table:
    return pa.table(
        {
            "timestamp": pa.array([row.timestamp for row in rows], pa.int64()),
            "key": pa.array([row.key for row in rows], pa.binary()),
            "value": pa.array([row.value for row in rows], pa.binary()),
        }
    )
