"""What differs between kinds of topics, from a pipeline's point of view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from kstreams.spark.plans import Plan
from kstreams.spark.sinks import SinkWriter
from kstreams.state.commits import Output

__all__ = ("Feed",)


class Feed(Protocol):
    """Brings a pipeline's input and takes its output; lives on the driver."""

    @property
    def writer(self) -> SinkWriter:
        """Return the worker's side."""
        ...

    def rows(
        self, session: SparkSession, stage: int, keys: Sequence[Sequence[int]]
    ) -> DataFrame | None:
        """Return a stage's input that Spark itself reads, as rows of `ROW_SCHEMA`."""
        ...

    def next_plan(self, until: Mapping[str, int] | None) -> Plan | None:
        """Return the next batch that the driver plans, or None when nothing is new."""
        ...

    def positions(self) -> dict[str, int]:
        """Return where planning goes on, by `topic/partition`; recorded with each plan."""
        ...

    def starts(self) -> dict[str, int]:
        """Return where reading began, by `topic/partition`, as far as no plan says it."""
        ...

    def end(self) -> dict[str, int]:
        """Return the present end of every source partition, by `topic/partition`."""
        ...

    def reached(self, end: Mapping[str, int]) -> bool:
        """Tell whether everything before an end is planned, or read and committed."""
        ...

    def publish(self, outputs: Sequence[Output], batch: int) -> None:
        """Make a committed batch's output visible, if writing it was not enough."""
        ...

    def backlog(self) -> int:
        """Return how many records wait to be planned, as far as that is known cheaply."""
        ...
