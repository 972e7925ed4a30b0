"""Workloads: data, expected results, and the implementations with this library and with Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from benchmarks.suite.clicks import CLICKS, KEYS, clicks_of
from benchmarks.suite.dataset import PARTITIONS, Dataset
from benchmarks.suite.zipf import EXPONENT
from kstreams import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ("Apart", "Execution", "Expected", "ResultKey", "Results", "Shape", "Workload")

ResultKey = tuple[bytes, int, int]
"""The identity of a result: key, start and end of its window; 0 without a window."""

Expected = Mapping[ResultKey, tuple[Any, int | None]]
"""The last value by result key, and the result's event time where it is deterministic."""

Results = dict[ResultKey, tuple[Any, int]]
"""Value and timestamp by result key, as read back."""

Shape = Literal["plain", "window", "session", "record", "event"]
"""Parts of a result's key besides the record key.

`plain`: none. `window`: the window's start. `session`: the session's start and end. `record`: the
`dateTime` of the output bid, whose price is the value. `event`: the `start` and `end` in the JSON,
whose `value` is the value, for peers of any format.
"""

Execution = Literal["auto", "records"]
"""Execution mode of the library's topology: automatic, or one call per record."""


@dataclass(frozen=True)
class Apart:
    """A different computation by peers that do not support the workload exactly.

    Args:
        peers: The names of the peers.
        how: The difference, for the report.
        expected: Computes the expected results of these peers.
    """

    peers: tuple[str, ...]
    how: str
    expected: Callable[..., Expected]


@dataclass(frozen=True)
class Workload:
    """One computation.

    Args:
        name: The name on the command line.
        title: A one-line description.
        dataset: The dataset of the first input topic.
        shape: The parts of a result's key.
        expected: Computes the expected results from the records returned by `Dataset.records`: one
            table per dataset.
        topology: Builds the library's topology from the names of the input topics (one per dataset)
            and of the output topic, and the execution mode. With windows, the output keys are
            windowed (`kstreams.windowed`); `values` is the format of values.
        spark: Builds Spark's own query from rows `(key, value, timestamp)` as strings and
            timestamp, one DataFrame per dataset; returns `(key, start, end, value)`, with start and
            end in ms, and Spark's output mode. None: not supported by Spark.
        values: The format of the topology's output values.
        by_record: Whether the topology can also run with one call per record.
        records: The number of records of the first dataset in a full run.
        keys: The number of keys, if it differs from the usual one.
        skew: The exponent of the distribution of keys, if it differs from the usual one.
        settle: Converts the results that were read back, before they are compared with the expected
            ones; None: no conversion.
        besides: The datasets of further input topics; all topics have the same partitioning.
        loaded: Indices in `besides` of the topics that Spark's query loads once at its start.
        apart: The computations of peers that do not support the workload exactly.
        by_clock: Whether the clock triggers results: the measured time ends when all records are
            processed, and results are awaited without counting.
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
    skew: float | None = None
    settle: Callable[[Results], Results] | None = None
    besides: tuple[Dataset, ...] = ()
    loaded: tuple[int, ...] = ()
    apart: tuple[Apart, ...] = ()
    by_clock: bool = False

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """The datasets of all input topics."""
        return (self.dataset, *self.besides)

    @property
    def closers(self) -> int:
        """The number of closers: records that only advance stream time; see `Dataset`."""
        return sum(dataset.partitions for dataset in self.datasets)

    def topics(self, records: int) -> tuple[str, ...]:
        """Return the input topics of a run with this number of records."""
        return tuple(dataset.topic(records) for dataset in self.datasets)

    def tables(self, records: int) -> tuple[pa.Table, ...]:
        """Return the records of each topic of such a run."""
        return tuple(dataset.records(records) for dataset in self.datasets)

    def sizes(self, records: int) -> tuple[int, ...]:
        """Return the number of records in each topic of such a run, including closers."""
        return tuple(dataset.rows(records) for dataset in self.datasets)

    def apart_of(self, peer: str) -> Apart | None:
        """Return the different computation of a peer; None if the peer computes the workload."""
        return next((apart for apart in self.apart if peer in apart.peers), None)

    @property
    def label(self) -> str:
        """The name in reports, with an unusual number of keys or partitions, or an unusual skew."""
        keys = "" if self.keys is None else f"-{self.keys}-keys"
        skew = "" if self.skew is None else f"-zipf-{self.skew:g}"
        spread = self.dataset.partitions
        spread_label = "" if spread == PARTITIONS else f"-{spread}-partitions"
        return f"{self.name}{keys}{skew}{spread_label}"

    def of_keys(self, keys: int) -> Workload:
        """Return the workload on clicks with a different number of users.

        Raises:
            ValueError: The workload's records are not clicks.
        """
        return self._of_clicks(keys, self.skew)

    def of_skew(self, exponent: float) -> Workload:
        """Return the workload on clicks whose users are distributed by another exponent.

        Raises:
            ValueError: The workload's records are not clicks.
        """
        return self._of_clicks(self.keys, exponent)

    def _of_clicks(self, keys: int | None, skew: float | None) -> Workload:
        if not self.dataset.name.startswith(CLICKS.name):
            raise ValueError(f"{self.name} is not about clicks: it has no keys to set")
        dataset = clicks_of(KEYS if keys is None else keys, EXPONENT if skew is None else skew)
        dataset = replace(dataset, partitions=self.dataset.partitions)
        return replace(self, dataset=dataset, keys=keys, skew=skew)

    def of_partitions(self, partitions: int) -> Workload:
        """Return the workload on topics with a different number of partitions."""
        return replace(
            self,
            dataset=replace(self.dataset, partitions=partitions),
            besides=tuple(replace(each, partitions=partitions) for each in self.besides),
        )
