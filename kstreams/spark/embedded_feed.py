"""Feed a pipeline from embedded topics: the driver plans every batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from kstreams.embedded.connection import Embedded
from kstreams.graph.topology import PartitionGroup
from kstreams.spark.embedded_io import EmbeddedWriter, publish
from kstreams.spark.planner import EmbeddedPlanner
from kstreams.spark.plans import Plan
from kstreams.state.commits import Output

__all__ = ("EmbeddedFeed",)


class EmbeddedFeed:
    """A `Feed` on embedded topics.

    Args:
        connection: The topics.
        groups: The pipeline's groups, by stage.
        max_records: How many records a batch reads at most.
        positions: Where planning goes on, by `topic/partition`.
    """

    def __init__(
        self,
        connection: Embedded,
        groups: Sequence[PartitionGroup],
        *,
        max_records: int,
        positions: Mapping[str, int],
    ) -> None:
        self._log = connection.log()
        self._planner = EmbeddedPlanner(
            self._log, groups, max_records=max_records, positions=positions
        )
        self.writer = EmbeddedWriter(connection)

    def rows(
        self, session: SparkSession, stage: int, keys: Sequence[Sequence[int]]
    ) -> DataFrame | None:
        """Return None: plans bring everything."""
        return None

    def next_plan(self, until: Mapping[str, int] | None) -> Plan | None:
        """Return the next slices, or None when nothing is new."""
        return self._planner.next(until=until)

    def positions(self) -> dict[str, int]:
        """Return where planning goes on."""
        return dict(self._planner.positions)

    def starts(self) -> dict[str, int]:
        """Return nothing: plans say it."""
        return {}

    def end(self) -> dict[str, int]:
        """Return the present end of every source partition."""
        return self._planner.end()

    def reached(self, end: Mapping[str, int]) -> bool:
        """Tell whether everything before an end is planned."""
        return not self._planner.behind(end)

    def publish(self, outputs: Sequence[Output], batch: int) -> None:
        """Make a committed batch's output visible."""
        publish(self._log, outputs, batch)

    def backlog(self) -> int:
        """Return how many records wait to be planned."""
        positions = self._planner.positions
        return sum(end - positions[place] for place, end in self._planner.end().items())
