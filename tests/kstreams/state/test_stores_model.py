"""Every store kind on every backend, compared with models through all events of a task."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from devtools.servers.s3 import Bucket
from kstreams.clock import FakeClock
from kstreams.state.backend import memory
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import StateBackend
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.row_cache import RowCache
from kstreams.state.cache.times import FixedTimes
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.checkout import Checkout
from kstreams.state.versions.versions import TaskVersions
from kstreams.views.layered_copy import State
from kstreams.views.replica import Replica
from kstreams_rocksdb import RocksDB
from tests.support.models.store_models import KEYS, Model, copied, models
from tests.support.storage.counting_object_store import ObjectDict

_TASK = TaskKey("app", "group", 0)
_UPKEEP = Upkeep(merge_count=3, max_deltas=5, floor_bytes=2000, small_bytes=4000, chunk_bytes=300)
_KINDS = len(models())
_Step = tuple[int, int, str, int, int]
"""The store, the action, a key and two small numbers."""

_STEPS = st.lists(
    st.tuples(
        st.integers(0, _KINDS - 1),
        st.integers(0, 19),
        st.sampled_from(KEYS),
        st.integers(0, 9),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=12,
)


@dataclass(frozen=True)
class Committed:
    """A committed version with its expected contents."""

    pointer: Pointer
    models: list[Model]
    wall: int

    def times(self) -> FixedTimes:
        return FixedTimes(self.pointer.meta.get("time", -1), self.wall)


class StoresMachine(RuleBasedStateMachine):
    """Consecutive attempts of a task that has a store of every kind."""

    backend: StateBackend
    new_log: Callable[[], ObjectStore] = ObjectDict

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="stores-model-"))
        self.log = type(self).new_log()
        self.stream = self.wall = 0
        self.names = 0
        self.last = Committed(Pointer.empty({"time": 0}), models(), 0)
        self.versions: list[Committed] = [self.last]
        self.replicas: dict[int, Replica[Any]] = {}
        self.held: dict[int, deque[tuple[State[Any], Any]]] = {}
        self._new_process()
        self._checkout()

    def _new_process(self) -> None:
        memory._CLOSED.clear()
        self.rows = RowCache(1 << 20)
        self.background = BackgroundUpkeep(clock=FakeClock())

    def _checkout(self) -> None:
        self.names += 1
        specs = [model.spec for model in self.last.models]
        versions = TaskVersions(
            self.backend,
            self.root / "local",
            self.log,
            _TASK,
            [spec.name for spec in specs],
            upkeep=_UPKEEP,
            background=self.background,
        )
        pointer = self.last.pointer
        attempt = Attempt(f"attempt{self.names}", self.names)
        self.checkout: Checkout = versions.checkout(pointer, attempt)
        self.overlay = Overlay(self.checkout.store, self.rows.take(_TASK, pointer.version_id))
        self.live = [spec.open(self.overlay) for spec in specs]
        self.models = copied(self.last.models)
        self._tell_time()

    def _tell_time(self) -> None:
        self.times = self.overlay.times = FixedTimes(self.stream, self.wall)

    def _do(self, on: list[Model], steps: list[_Step]) -> None:
        for kind, action, key, a, b in steps:
            on[kind].step(self.live[kind], action, key, a, b, self.times)

    def _check(self) -> None:
        for model, live in zip(self.models, self.live, strict=True):
            model.check(live, self.times)

    @rule(steps=_STEPS)
    def change(self, steps: list[_Step]) -> None:
        """Process a record."""
        self._do(self.models, steps)

    @rule(steps=_STEPS)
    def change_and_undo(self, steps: list[_Step]) -> None:
        """Process a record that fails and is skipped."""
        self.overlay.begin()
        self._do(copied(self.models), steps)
        self.overlay.rollback()

    @rule()
    def look(self) -> None:
        """Read all contents in the middle of a batch."""
        self._check()

    @rule(stream=st.integers(0, 6), wall=st.integers(0, 6))
    def time_passes(self, stream: int, wall: int) -> None:
        """Advance both clocks."""
        self.stream += stream
        self.wall += wall
        self._tell_time()

    @rule(steps=_STEPS, cached=st.booleans(), wins=st.sampled_from((True, True, False)))
    def commit(self, steps: list[_Step], cached: bool, wins: bool) -> None:
        """End the batch or only the attempt; the next one begins with or without cached rows."""
        self._do(self.models, steps)
        pointer = self.checkout.commit(self.overlay.changes(), {"time": self.stream})
        if cached:
            self.rows.keep(_TASK, pointer.version_id, self.overlay)
        if wins:
            self.last = Committed(Pointer.from_json(pointer.to_json()), self.models, self.wall)
            self.versions.append(self.last)
        self._checkout()
        self._check()

    @rule(steps=_STEPS)
    def abort(self, steps: list[_Step]) -> None:
        """Fail the attempt."""
        self._do(self.models, steps)
        self.checkout.abort()
        self._checkout()
        self._check()

    @rule(steps=_STEPS, disk=st.booleans())
    def die(self, steps: list[_Step], disk: bool) -> None:
        """Continue in another process, on this machine or on an empty one."""
        self._do(self.models, steps)
        self.background.drain()
        self.checkout.store.close()
        self.checkout._resources.directory.release()
        if disk:
            shutil.rmtree(self.root / "local", ignore_errors=True)
        self._new_process()
        self._checkout()
        self._check()

    @rule()
    def snapshots_are_done(self) -> None:
        """Wait until background snapshots are finished."""
        self.background.drain()

    @rule(kind=st.integers(0, _KINDS - 1), back=st.sampled_from((0, 0, 0, 1, 3)))
    def view(self, kind: int, back: int) -> None:
        """Read a committed version from outside during an attempt."""
        seen = self.versions[max(0, len(self.versions) - 1 - back)]
        if kind not in self.replicas:
            home = self.root / "views" / str(kind)
            home.mkdir(parents=True)
            spec = seen.models[kind].spec
            backend = Memory() if kind % 2 else RocksDB()
            self.replicas[kind] = Replica(spec, DurableLog(self.log, _TASK), backend, home)
        held = self.held.setdefault(kind, deque(maxlen=2))
        held.append((self.replicas[kind].advance(seen.pointer, seen.wall), seen))
        self.replicas[kind].fold(nullcontext(True))
        for state, version in held:
            version.models[kind].check(state.live(), version.times())

    def teardown(self) -> None:
        if not hasattr(self, "root"):
            return
        self.checkout.abort()
        for replica in self.replicas.values():
            replica.close()
        self.background.drain()
        memory._CLOSED.clear()
        shutil.rmtree(self.root)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("backend", "examples", "steps"),
    [
        pytest.param(Memory(), 30, 40, id="memory"),
        pytest.param(RocksDB(), 10, 40, id="rocksdb", marks=pytest.mark.slow),
    ],
)
def test_each_store_kind_equals_its_model(backend: StateBackend, examples: int, steps: int) -> None:
    check(backend, examples, steps)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_store_kind_equals_its_model_on_s3(bucket: Bucket) -> None:
    store = bucket.settings("stores-model").open()
    list(store.list(""))  # the client is created before the clock of an example runs
    runs = itertools.count()

    def new_log() -> ObjectStore:
        opened = bucket.settings(f"stores-model/{next(runs)}").open()
        opened._made = store._made  # one client for all examples
        return opened

    check(RocksDB(), 3, 30, new_log)


def check(
    backend: StateBackend,
    examples: int,
    steps: int,
    new_log: Callable[[], ObjectStore] = ObjectDict,
) -> None:
    members = {"backend": backend, "new_log": staticmethod(new_log)}
    machine: type[StoresMachine] = type("Machine", (StoresMachine,), members)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True
        ),
    )
