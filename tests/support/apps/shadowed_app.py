"""An app on embedded topics with a shadow, and changes of its topology."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kstreams import INT64, TEXT, Embedded, Topic, Topology
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.stores import timestamped_store
from kstreams.streams import Streams
from kstreams_shadow.replica import ReplicaSettings
from kstreams_shadow.shadow_home import ShadowHome
from kstreams_shadow.shadow_run import ShadowRun, ShadowSettings
from tests.support.apps.stepped_app import ByHand

__all__ = (
    "COUNTS",
    "EVENTS",
    "RESULTS",
    "ShadowedApp",
    "by_value",
    "counting",
    "filtering",
    "follow",
    "louder",
    "tallies",
)

EVENTS = Topic("events", key=TEXT, value=INT64)
RESULTS = Topic("results", key=TEXT, value=TEXT)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)

Event = tuple[str, int]


def _built(change: Callable[[Any], Any], text: str = "count") -> Topology:
    streams = Streams("app")
    counts = change(streams.stream(EVENTS)).group_by_key().count(store=COUNTS)
    texts = counts.to_stream().map(
        lambda key, count: (key, f"{text} {key} {count}"), key=TEXT, value=TEXT
    )
    texts.to(RESULTS)
    return streams.build()


def counting() -> Topology:
    """Build a count by key."""
    return _built(lambda events: events)


def filtering() -> Topology:
    """Build a count by key of the positive values."""
    return _built(lambda events: events.filter(lambda _, value: value > 0))


def louder() -> Topology:
    """Build a count by key with other texts of results."""
    return _built(lambda events: events, "COUNT")


def by_value() -> Topology:
    """Build a count by value, with another store."""
    streams = Streams("app")
    keyed = streams.stream(EVENTS).map(lambda _, value: (f"v{value}", value), key=TEXT, value=INT64)
    counts = keyed.repartition().group_by_key().count(store="values")
    counts.to_stream().map(
        lambda key, count: (key, f"count {key} {count}"), key=TEXT, value=TEXT
    ).to(RESULTS)
    return streams.build()


class ShadowedApp:
    """An app and its shadow in one directory.

    Args:
        home: The directory of topics, checkpoint and shadow.
        old: The topology of the app.
    """

    def __init__(self, home: Path, old: Topology) -> None:
        self.home, self.old = home, old
        self._app: ByHand | None = None

    @property
    def app(self) -> ByHand:
        """The running app; the first use starts it with its old topology."""
        return self._app or self.start(self.old)

    def start(self, topology: Topology) -> ByHand:
        """Start the app with a topology, as after a stop or a kill."""
        counts = {"events": 2, "results": 2}
        self._app = ByHand(self.home, topology, partitions=counts)
        return self._app

    def run(self, *batches: Sequence[Event]) -> None:
        """Write records, and run the app to the end, batch by batch."""
        for batch in batches:
            self.app.emit(EVENTS, *batch)
            self.app.run()

    def savepoint(self, name: str = "before") -> None:
        """Create a savepoint of the app."""
        found = self.checkpoint()
        Savepoints(found, found.log.open()).create(name, self.app.clock)

    def checkpoint(self) -> Checkpoint:
        """Return the checkpoint of the app."""
        return Checkpoint.load(home_of(self.home / "app"))

    def settings(self, new: Topology, **options: Any) -> ShadowSettings:
        """Return the settings of a shadow with a changed topology."""
        return ShadowSettings(
            home_of(self.home / "app"),
            ShadowHome(self.home / "shadow"),
            Embedded(self.home / "topics", default_partitions=2, durable=False),
            ReplicaSettings(self.old),
            replace(ReplicaSettings(new), **options),
        )

    def shadow(self, new: Topology, savepoint: str | None = None, **options: Any) -> ShadowRun:
        """Return a shadow with a changed topology."""
        return ShadowRun(self.settings(new, **options), savepoint)

    def results(self) -> list[str]:
        """Return the results of the app, sorted."""
        return self.app.values(RESULTS)


def follow(shadow: ShadowRun) -> int:
    """Run steps until the app has no further batch; return their number."""
    count = 0
    while shadow.step() is not None:
        count += 1
    return count


def tallies(shadow: ShadowRun) -> Mapping[str, Mapping[str, int]]:
    """Return the numbers of each sink and store."""
    parts = {**shadow.report.sinks, **shadow.report.stores}
    return {name: each.tally.to_json() for name, each in parts.items()}
