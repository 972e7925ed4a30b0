"""How often a batch waits for a storage that is far away: for its deltas, then for its commit."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kstreams.state import Memory, ObjectStore
from kstreams.state.log.directory import Directory
from kstreams.state.log.upkeep import Upkeep
from tests.crash.failpoints import Point
from tests.crash.harness import Harness

_WAIT_S = 60.0
BATCHES = 4


class Trips:
    """What was asked of a storage, in order, and what must be asked before any of it is answered.

    Attributes:
        asked: What was put, by its kind; every other request by itself.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._together: tuple[str, ...] = ()
        self._all_there = threading.Barrier(1)

    def __reduce__(self) -> tuple[type[Trips], tuple[()]]:
        return Trips, ()  # of settings that are sent to workers; here tasks run in this process

    def share(self, *kinds: str) -> None:
        """Answer these from here on only when all of them are asked: each a part of one trip."""
        self._together, self._all_there = kinds, threading.Barrier(len(kinds))

    def take(self, what: str) -> None:
        """Be asked for something, and wait until it may be answered."""
        self.asked.append(what)
        if what in self._together:
            self._all_there.wait(_WAIT_S)


@dataclass(frozen=True, eq=False)
class FarAway:
    """A storage that is far away, as settings and as itself."""

    inner: Directory
    trips: Trips

    def open(self) -> ObjectStore:
        return self

    def put_if_absent(self, name: str, data: bytes) -> bool:
        folder, _, rest = name.partition("/")
        self.trips.take(folder if folder in ("commits", "plans") else rest.rpartition(".")[2])
        return self.inner.open().put_if_absent(name, data)

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        self.trips.take(f"get {name}")
        return self.inner.open().get(name, start, length)

    def list(self, prefix: str) -> Iterator[str]:
        self.trips.take(f"list {prefix}")
        return self.inner.open().list(prefix)

    def delete(self, names: Iterable[str]) -> None:
        self.trips.take("delete")
        self.inner.open().delete(names)


@pytest.fixture
def trips() -> Trips:
    return Trips()


@pytest.fixture
def harness(trips: Trips, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    far = FarAway(Directory(str(tmp_path / "storage")), trips)
    state = Memory(directory=str(tmp_path / "local"))
    point = Point("nothing-dies", "never", upkeep=Upkeep())
    made = Harness(tmp_path, state, far, point, "retry", monkeypatch, far)
    made.start_driver()
    made.batch()
    return made


def test_while_records_wait_a_batch_takes_two_trips(harness: Harness, trips: Trips) -> None:
    """Its deltas, then its commit; the plan of the next one is asked for before that is there."""
    harness.emit()
    harness.emit_in_batch()
    harness.spark.run_batch()  # the first one, whose plan is a trip of its own
    trips.asked.clear()
    trips.share("commits", "plans")
    for _ in range(BATCHES):
        harness.emit_in_batch()
        harness.spark.run_batch()
    assert len(trips.asked) == 4 * BATCHES
    for first in range(0, 4 * BATCHES, 4):
        assert trips.asked[first : first + 2] == ["delta", "delta"]
        assert {*trips.asked[first + 2 : first + 4]} == {"commits", "plans"}


def test_after_a_pause_the_plan_is_a_third_trip(harness: Harness, trips: Trips) -> None:
    trips.asked.clear()
    for _ in range(BATCHES):
        harness.batch()
    assert trips.asked == ["plans", "delta", "delta", "commits"] * BATCHES
