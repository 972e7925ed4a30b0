"""Round trips of a batch to a remote storage: one for its packs, one for its commit."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kstreams.state import Memory, ObjectStore
from kstreams.state.log.directory import Directory
from kstreams.state.log.upkeep import Upkeep
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import Harness

_WAIT_S = 60.0
BATCHES = 4


class Trips:
    """Records the requests to an object store, and delays concurrent requests until all arrive.

    Attributes:
        asked: The requests in order: a write by the kind of its object, another request by its
            operation and object name.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._together: tuple[str, ...] = ()
        self._all_there = threading.Barrier(1)

    def __reduce__(self) -> tuple[type[Trips], tuple[()]]:
        return Trips, ()  # of settings that are sent to workers; here tasks run in this process

    def share(self, *kinds: str) -> None:
        """From here on, answer these kinds of requests only when all of them have arrived."""
        self._together, self._all_there = kinds, threading.Barrier(len(kinds))

    def take(self, what: str) -> None:
        """Record a request, and wait until it may be answered."""
        self.asked.append(what)
        if what in self._together:
            self._all_there.wait(_WAIT_S)


@dataclass(frozen=True, eq=False)
class FarAway:
    """A remote storage, as settings and as the opened store."""

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


def test_batch_planned_ahead_takes_two_round_trips_for_packs_and_commit(
    harness: Harness, trips: Trips
) -> None:
    """The packs of two workers, then the commit, with the plan of the next batch."""
    harness.emit()
    harness.emit_in_batch()
    harness.query.run_batch()  # the first batch, whose plan is a separate trip
    trips.asked.clear()
    trips.share("commits", "plans")
    for _ in range(BATCHES):
        harness.emit_in_batch()
        harness.query.run_batch()
    assert len(trips.asked) == 4 * BATCHES
    for first in range(0, 4 * BATCHES, 4):
        assert trips.asked[first : first + 2] == ["pack", "pack"]
        assert {*trips.asked[first + 2 : first + 4]} == {"commits", "plans"}


def test_batch_planned_after_a_pause_takes_a_third_round_trip_for_its_plan(
    harness: Harness, trips: Trips
) -> None:
    trips.asked.clear()
    for _ in range(BATCHES):
        harness.batch()
    assert trips.asked == ["plans", "pack", "pack", "commits"] * BATCHES
