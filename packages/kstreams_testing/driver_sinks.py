"""Results of the test driver for sinks other than topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kstreams._types import K, V
from kstreams.batch.io.sink_publishing import prepare_sinks, publish_receipts
from kstreams.batch.io.sink_writers import SinkWriters, sinks_of
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.errors import TopologyError
from kstreams.graph.topology import Topology
from kstreams.record import Record
from kstreams.sink import Sink, Writer
from kstreams_testing.recording_sink import RecordingSink

__all__ = ("DriverSinks",)


@dataclass(frozen=True)
class _Kept(SinkWriters):
    """Returns writers that record the results of all sinks."""

    sinks: dict[str, RecordingSink[Any, Any]] = field(default_factory=dict)

    def get(self, owner: str, name: str, sink: Sink[Any, Any]) -> Writer[Any, Any]:
        return self.sinks[name]


class DriverSinks:
    """The sinks of a topology other than topics.

    Args:
        topology: The topology.
        real: Whether to write to the sinks; otherwise their results are recorded.

    Raises:
        SinkUnavailableError, SinkError: As for `Sink.prepare`.
    """

    def __init__(self, topology: Topology, *, real: bool) -> None:
        self._real = real
        found = self._given = {
            name: s for group in topology.groups for name, s in sinks_of(group).items()
        }
        self._kept: dict[str, RecordingSink[Any, Any]] = {}
        self._sinks: dict[str, Sink[Any, Any]] = found
        self.writers = SinkWriters()
        if real:
            prepare_sinks(found)
        else:
            self._kept = {name: RecordingSink() for name in found}
            self._sinks = {**self._kept}
            self.writers = _Kept(sinks=self._kept)

    def read(self, sink: Sink[K, V]) -> list[Record[K, V]]:
        """Return the new results of a sink.

        Raises:
            TopologyError: The sink does not exist, or its results are not recorded.
        """
        names = [name for name, found in self._given.items() if found is sink]
        if not names:
            known = ", ".join(sink.label for sink in self._given.values()) or "none"
            raise TopologyError(f"the topology has no sink {sink.label!r}; it has {known}")
        if self._real:
            raise TopologyError(
                f"sink {sink.label!r} has no recorded results: the driver has real_sinks=True",
                hint="read the results from the real sink, or leave out real_sinks=True.",
            )
        records = [record for name in names for record in self._kept[name].records()]
        for name in names:
            self._kept[name].commits.clear()
        return records

    def publish(self, statuses: Iterable[TaskStatus]) -> None:
        """Publish the results of a batch."""
        publish_receipts(self._sinks, [each for status in statuses for each in status.receipts])

    def close(self) -> None:
        """Close the writers."""
        self.writers.close()
