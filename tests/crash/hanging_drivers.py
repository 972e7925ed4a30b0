"""Drivers that hang at a request and continue later, on one store: their runs and commits."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kstreams import TEXT, Embedded, Emitter, Topic, Topology, TopologyBuilder
from kstreams.batch.io.embedded.feed import EmbeddedFeed
from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import open_for_running
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.errors import FencedError
from kstreams.state import Memory
from kstreams.state.log.commits import Commit
from kstreams.state.log.document import read_document
from kstreams.testing import FakeClock
from tests.support.storage.counting_object_store import ObjectDict

__all__ = ("Drivers", "Hang", "HungDriver")

RECORDS = 40
WORDS = Topic("words", TEXT, TEXT)
_OBJECT = re.compile(r"(plan|commit)s/.*/(\d+)(?:\.\d+)?\.json")
_WAIT_S = 20.0


class Hang(NamedTuple):
    """The request at which a driver hangs.

    Attributes:
        moment: Before the request reaches the storage, or after.
        kind: Kind of the object that the request creates.
        batches: Number of batches that the driver has run before.
    """

    moment: str
    kind: str
    batches: int


@dataclass
class Drivers:
    """Drivers of one app on one store, each in a separate thread.

    Attributes:
        objects: The store of all drivers.
        ran: Offsets read by each batch that ran, by its number: everything visible outside.
    """

    home: Path
    objects: ObjectDict = field(default_factory=ObjectDict)
    ran: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    history: dict[tuple[int, str], Commit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.connection = Embedded(self.home / "topics", default_partitions=1, durable=False)
        with Emitter(WORDS, self.connection) as emitter:
            emitter.emit_many((str(n), "") for n in range(RECORDS))
        builder = TopologyBuilder("hanging")
        builder.add_sink("out", Topic("out", TEXT, TEXT), builder.add_source("words", WORDS))
        self.topology: Topology = builder.build()
        self._count = 0

    def driver(self, hang: Hang | None = None, batches: int = 6) -> HungDriver:
        """Start a driver; return when it has ended or hangs."""
        self._count += 1
        return HungDriver(self, f"run-{self._count}", hang, batches)

    def check(self) -> None:
        """Check that one sequence of commits has read all records once, and that no other batch
        ran.
        """
        last = max(self.history.values(), key=lambda c: (c.batch, c.id in self._followed()))
        line = [last]
        while line[-1].after is not None:
            line.append(self.history[line[-1].after.batch, line[-1].after.digest])
        read: list[tuple[int, int]] = []
        for commit in reversed(line):
            end = next(iter(commit.positions.values()), 0)
            begin = read[-1][1] if read else 0
            ran = self.ran.pop(commit.batch, set())
            assert ran <= {(begin, end)}, f"batch {commit.batch}"
            if begin != end:
                assert ran
                read.append((begin, end))
        assert self.ran == {}
        assert read == [(n, n + 1) for n in range(len(read))]

    def _followed(self) -> set[object]:
        return {commit.after for commit in self.history.values()}


class HungDriver:
    """A driver that hangs once, until it is continued.

    Attributes:
        fenced: Whether the driver was fenced in the end.
    """

    def __init__(self, drivers: Drivers, run: str, hang: Hang | None, batches: int) -> None:
        self._drivers, self._run, self._hang, self._left = drivers, run, hang, batches
        self._done = 0
        self._rests, self._goes_on = threading.Event(), threading.Event()
        self.fenced = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        assert self._rests.wait(_WAIT_S)
        self._raise()

    @property
    def hangs(self) -> bool:
        return self._thread.is_alive()

    def resume(self) -> None:
        """Let the driver continue to its end."""
        self._goes_on.set()
        self._thread.join(_WAIT_S)
        assert not self._thread.is_alive()
        self._raise()

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    # ------------------------------------------------------------ as an object store

    def open(self) -> HungDriver:
        return self

    def put_if_absent(self, name: str, data: bytes) -> bool:
        self._reach("before", name)
        made = self._drivers.objects.put_if_absent(name, data)
        if made and name.startswith("commits/") and not name.endswith("begin.json"):
            commit = read_document(data, name, Commit.from_json, what=name, hint="")
            self._drivers.history[commit.batch, commit.digest] = commit
        self._reach("after", name)
        return made

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        return self._drivers.objects.get(name, start, length)

    def list(self, prefix: str) -> Iterator[str]:
        return self._drivers.objects.list(prefix)

    def delete(self, names: Iterable[str]) -> None:
        self._drivers.objects.delete(names)

    def _reach(self, moment: str, name: str) -> None:
        found = _OBJECT.fullmatch(name)
        if found and self._hang == (moment, found[1], self._done):
            self._hang = None
            self._rests.set()
            assert self._goes_on.wait(_WAIT_S)

    # ------------------------------------------------------------ its thread

    def _live(self) -> None:
        try:
            with suppress(FencedError):
                self._batches()
                return
            self.fenced = True
        except BaseException as exc:  # raised in the thread of the test
            self._failure = exc
        finally:
            self._rests.set()

    def _batches(self) -> None:
        driver = self._started()
        while self._done < self._left:
            batch = driver.next_batch
            plan = driver.planned(batch)
            if plan is None:
                found = driver.next_plan()
                assert found is not None
                plan = driver.record(batch, found)
            self._see(batch, plan)
            self._done += 1
            ahead = driver.next_plan if self._done < self._left else lambda: None
            driver.commit(batch, plan, (), 0.0, ahead)

    def _see(self, batch: int, plan: Plan) -> None:
        reads = [(s.from_offset, s.to_offset) for slices in plan.tasks.values() for s in slices]
        self._drivers.ran.setdefault(batch, set()).update(reads)

    def _started(self) -> QueryDriver:
        drivers = self._drivers
        state = Memory(directory=str(drivers.home / "local"))
        settings = AppSettings(
            "hanging", ObjectHome(self), state=state, max_records_per_batch=1, retained_batches=2
        )
        (query,) = open_for_running(
            settings, drivers.topology, {"words": 1}, run=self._run, publish=lambda _: None
        )
        feed = EmbeddedFeed(drivers.connection)
        query_settings = QuerySettings(
            settings,
            epoch=query.epoch,
            scope=query.scope,
            log=query.log,
            groups=query.groups,
            counts=(1,),
            width=1,
            io=feed.io,
            fingerprint=drivers.topology.fingerprint(),
        )
        return QueryDriver(
            query_settings,
            query,
            feed,
            clock=FakeClock(1_000),
            fence=lambda: None,
            run=self._run,
        )
