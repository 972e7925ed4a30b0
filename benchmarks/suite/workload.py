"""What a workload is: its data, what must come out, and how this library and Spark do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from benchmarks.suite.clicks import CLICKS, clicks_of
from benchmarks.suite.dataset import PARTITIONS, Dataset
from kstreams import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ("Apart", "Execution", "Expected", "ResultKey", "Results", "Shape", "Workload")

ResultKey = tuple[bytes, int, int]
"""What a result is about: key, start and end of its window; 0 where there is none."""

Expected = Mapping[ResultKey, tuple[Any, int | None]]
"""By result key: the last value, and the result's event time where it is certain."""

Results = dict[ResultKey, tuple[Any, int]]
"""By result key: value and timestamp, as read back."""

Shape = Literal["plain", "window", "session", "record", "event"]
"""What belongs to a result's key: nothing, a window's start, a session's start and end; for a
bid that goes through its `dateTime`, and its price is the value; for an event the `start` and
`end` that its JSON has, and its `value` is the value, whatever else a peer writes as."""

Execution = Literal["auto", "records"]
"""How the library runs a topology: as it does by itself, or with one call a record."""


@dataclass(frozen=True)
class Apart:
    """What peers compute that cannot do quite the same.

    Args:
        peers: Their names.
        how: What is different; the report says it.
        expected: Their results, in place of the workload's.
    """

    peers: tuple[str, ...]
    how: str
    expected: Callable[..., Expected]


@dataclass(frozen=True)
class Workload:
    """One thing to compute.

    Args:
        name: What the command line calls it.
        title: One line about it.
        dataset: Where its records come from.
        shape: What belongs to a result's key.
        expected: The results, by a plain computation on the records as made by
            `Dataset.records`: a table for each dataset.
        topology: The library's topology. Takes the names of the input topics, one for each
            dataset, of the output topic, and the execution. Its keys go out windowed
            (`kstreams.windowed`) where there are windows, values as `values` says.
        spark: Spark's own query. Takes rows `(key, value, timestamp)` as strings and
            timestamp, once for each dataset; returns `(key, start, end, value)`, start and end
            in ms, and Spark's output mode. None: Spark cannot.
        values: How the topology writes values.
        by_record: Whether one call a record is another way through the topology.
        records: How many records of the first dataset a full run has.
        keys: Of how many keys its records are, where that is not as usual.
        settle: Makes what is compared of what was read back; None: nothing is to be done.
        besides: The other topics that it reads; they lie in partitions as the first one does.
        loaded: Which of them Spark's query takes as they are at its start, by their places in
            `besides`.
        apart: What some peers compute instead.
        by_clock: Whether results come when the clock says so: the time of a run ends when all
            records are done, and the results are awaited besides.
    """

    name: str
    title: str
    dataset: Dataset
    shape: Shape
    expected: Callable[..., Expected]
    topology: Callable[..., Topology] | None = None
    spark: Callable[..., tuple[DataFrame, str]] | None = None
    values: Literal["int64", "json"] = "int64"
    by_record: bool = True
    records: int = 1_200_000
    keys: int | None = None
    settle: Callable[[Results], Results] | None = None
    besides: tuple[Dataset, ...] = ()
    loaded: tuple[int, ...] = ()
    apart: tuple[Apart, ...] = ()
    by_clock: bool = False

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """All that it reads, a topic each."""
        return (self.dataset, *self.besides)

    @property
    def closers(self) -> int:
        """How many of its records only move time."""
        return sum(dataset.partitions for dataset in self.datasets)

    def topics(self, records: int) -> tuple[str, ...]:
        """Return the topics of a run of so many records."""
        return tuple(dataset.topic(records) for dataset in self.datasets)

    def tables(self, records: int) -> tuple[pa.Table, ...]:
        """Return the records of each topic of such a run."""
        return tuple(dataset.records(records) for dataset in self.datasets)

    def sizes(self, records: int) -> tuple[int, ...]:
        """Return how many records its topics hold in such a run, closers included."""
        return tuple(dataset.rows(records) for dataset in self.datasets)

    def apart_of(self, peer: str) -> Apart | None:
        """Return what a peer computes instead, None where it is the same."""
        return next((apart for apart in self.apart if peer in apart.peers), None)

    @property
    def label(self) -> str:
        """What reports call it: its name, and numbers of keys or partitions that are unusual."""
        keys = "" if self.keys is None else f"-{self.keys}-keys"
        spread = self.dataset.partitions
        return f"{self.name}{keys}{'' if spread == PARTITIONS else f'-{spread}-partitions'}"

    def of_keys(self, keys: int) -> Workload:
        """Return the same on clicks of another number of users.

        Raises:
            ValueError: Its records are not clicks.
        """
        if self.dataset != CLICKS:
            raise ValueError(f"{self.name} is not about clicks: it has no number of keys to set")
        return replace(self, dataset=clicks_of(keys), keys=keys)

    def of_partitions(self, partitions: int) -> Workload:
        """Return the same on topics of another number of partitions."""
        return replace(
            self,
            dataset=replace(self.dataset, partitions=partitions),
            besides=tuple(replace(each, partitions=partitions) for each in self.besides),
        )
