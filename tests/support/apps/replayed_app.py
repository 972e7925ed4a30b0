"""An app with committed batches, to be replayed and explained."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from kstreams import Topic, Topology
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.store_place import StorePlace
from kstreams.emitter import Emitter
from kstreams.state.stores.spec import StoreSpec
from kstreams_explain.audit import AuditedTask, audit
from kstreams_explain.explained import Explanation, explain_key
from kstreams_explain.replayed_app import ReplayedApp
from kstreams_testing.driver import TopologyTestDriver
from tests.support.apps.stepped_app import ByHand

__all__ = ("Explained",)

Batch = Iterable[tuple[Topic[Any, Any], Any, Any, int]]
"""Records of a batch: topic, key, value, time in ms."""


class Explained:
    """An app whose batches are run without Spark, and replayed.

    Args:
        home: The directory of its files.
        topology: The topology of the app.
        options: Settings of the app.
    """

    def __init__(self, home: Path, topology: Topology, **options: Any) -> None:
        self.topology = topology
        self.hand = ByHand(home, topology, **{"retained_batches": 50, **options})

    def batch(self, records: Batch = ()) -> None:
        """Write records, and run batches until all are processed."""
        self.hand.clock.advance(timedelta(seconds=1))
        for topic, key, value, time_ms in records:
            with Emitter(topic, self.hand.topics) as emitter:
                emitter.emit(key, value, timestamp=time_ms)
        self.hand.run()

    def replayed(self, topology: Topology | None = None, **options: Any) -> ReplayedApp:
        """Return the app for a replay, perhaps with other code."""
        checkpoint = Checkpoint.load(self.hand.settings.checkpoint)
        found = topology or self.topology
        return ReplayedApp(checkpoint, found, self.hand.topics, checkpoint.log, **options)

    def explain(self, spec: StoreSpec[Any], key: object, **options: Any) -> Explanation:
        """Return the explanation of a key's value."""
        place = StorePlace.find(self.hand.settings.checkpoint, None, spec)
        return explain_key(place, key, self.replayed(), **options)

    def audit(self, topology: Topology | None = None, **options: Any) -> list[AuditedTask]:
        """Replay all retained batches of tasks with stores."""
        return list(audit(self.replayed(topology, **options), 10_000))

    def by_hand(self, found: Explanation) -> list[tuple[Any, ...]]:
        """Run the records in an explanation on the test driver; return the resulting rows of the
        key.

        Dropped records are left out, because the test driver lacks the records that made them late.
        """
        reader = self.hand.connection.reader()
        taken = {
            (step.origin.topic, step.origin.partition, step.origin.offset)
            for change in found.explained
            for step in change.steps
            if step.origin is not None and not step.step.dropped
        }
        rows = [
            row
            for topic, partition, offset in sorted(taken)
            for row in reader.read(topic, partition, offset, offset + 1)
        ]
        rows.sort(key=lambda row: row.timestamp)
        with TopologyTestDriver(self.topology, partitions=2) as driver:
            for row in rows:
                driver.write_bytes(
                    row.topic,
                    row.key,
                    row.value,
                    timestamp=row.timestamp,
                    partition=row.partition,
                )
            driver.run()
            live: Any = driver.store(found.rows.spec, found.history.task.partition)
            return list(found.rows.of(live))
