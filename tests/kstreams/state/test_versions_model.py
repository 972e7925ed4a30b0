"""Versions of a task's state, compared with a dictionary for each pointer."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from devtools.servers.s3 import Bucket
from kstreams.clock import FakeClock
from kstreams.state.backend import memory
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey, packs_prefix
from kstreams.state.backend.working import StateBackend, StaysOpen, StoreChanges, WorkingStore
from kstreams.state.log.batch_objects import sweep_batch_objects
from kstreams.state.log.durable import Attempt
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.packs import Packs
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.checkout import Checkout
from kstreams.state.versions.open_versions import OpenVersions
from kstreams.state.versions.versions import TaskVersions
from kstreams_rocksdb import RocksDB
from tests.support.storage.counting_object_store import ObjectDict

Model = dict[str, dict[bytes, bytes]]
_STORES = ("a", "b")
_KEYS = st.binary(max_size=2)
_PAIRS = st.dictionaries(_KEYS, st.none() | st.binary(max_size=40), max_size=12)
_BOUNDS = st.just(set[bytes]()) | st.sets(_KEYS, min_size=2, max_size=4)
CHANGES = st.dictionaries(
    st.sampled_from(_STORES),
    st.builds(
        lambda pairs, bounds: StoreChanges(
            sorted(pairs.items()),
            list(zip(sorted(bounds)[::2], sorted(bounds)[1::2], strict=False)),
        ),
        _PAIRS,
        _BOUNDS,
    ),
)
_UPKEEP = Upkeep(merge_count=3, max_deltas=7, floor_bytes=900, small_bytes=2500, chunk_bytes=120)
_TASK = TaskKey("app", "group", 0)


@dataclass
class _Open:
    checkout: Checkout
    model: Model
    process: OpenVersions | None


@dataclass(frozen=True)
class Staying(Memory):
    """An in-memory backend whose versions stay open."""

    open_bytes: int = 20_000

    def branch(self, source: Path, target: Path) -> bool:
        """Copy the version."""
        return self.copy(source, target)


class VersionsMachine(RuleBasedStateMachine):
    """Attempts of one task; `committed` simulates Spark's choice of the pointer that counts."""

    backend: StateBackend
    new_log: Callable[[], ObjectStore] = ObjectDict
    in_background: bool
    resident_bytes: int = 0
    packed: bool = False

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="versions-model-"))
        self.log = type(self).new_log()
        self.clock = FakeClock()
        self.background = BackgroundUpkeep(clock=self.clock) if self.in_background else None
        self.processes: list[OpenVersions | None] = [None]
        if isinstance(self.backend, StaysOpen):
            self.processes += [self.new_process(), self.new_process()]
        self.names = 0
        self.open: list[_Open] = []
        self.committed: list[tuple[Pointer, Model]] = [(Pointer.empty(), _empty())]
        self.offered: list[tuple[Pointer, Model]] = []

    def new_process(self) -> OpenVersions:
        return OpenVersions(
            clock=self.clock,
            most_open=1,
            resident_bytes=self.resident_bytes,
            idle=timedelta(hours=1),
        )

    def versions(self, process: OpenVersions | None) -> TaskVersions:
        packs = Packs(self.log, packs_prefix("app", "epoch"), self.names) if self.packed else None
        return TaskVersions(
            self.backend,
            self.root / "local",
            self.log,
            _TASK,
            _STORES,
            upkeep=_UPKEEP,
            background=self.background,
            open_versions=process,
            packs=packs,
        )

    @rule()
    def snapshots_are_done(self) -> None:
        """Wait until background snapshots are finished."""
        if self.background is not None:
            self.background.drain()

    def checkout(self, pointer: Pointer, process: OpenVersions | None = None) -> Checkout:
        self.names += 1
        return self.versions(process).checkout(pointer, Attempt(f"attempt{self.names}", self.names))

    @precondition(lambda self: len(self.open) < 3)
    @rule(back=st.sampled_from((0, 0, 0, 0, 1, 2)), process=st.sampled_from((1, 1, 1, 2, 0)))
    def attempt(self, back: int, process: int) -> None:
        """Start an attempt from the last pointer, or a stale attempt from an older one."""
        pointer, model = self.committed[max(-1 - back, -len(self.committed))]
        on = self.processes[process % len(self.processes)]
        self.open.append(_Open(self.checkout(pointer, on), model, on))
        assert _contents(self.open[-1].checkout.store) == model
        assert _looked_up(self.open[-1].checkout.store, model) == model

    @precondition(lambda self: self.open)
    @rule(pick=st.integers(0, 2), changes=CHANGES, number=st.integers())
    def commit(self, pick: int, changes: dict[str, StoreChanges], number: int) -> None:
        """Finish an attempt; a later step decides whether it counts."""
        attempt = self.open.pop(pick % len(self.open))
        pointer = attempt.checkout.commit(changes, {"n": number})
        pointer = Pointer.from_json(pointer.to_json())
        assert pointer.meta == {"n": number}
        assert self.in_background or len(pointer.deltas) <= _UPKEEP.max_deltas
        self.offered.append((pointer, _applied(attempt.model, changes)))

    @precondition(lambda self: self.open)
    @rule(pick=st.integers(0, 2))
    def abort(self, pick: int) -> None:
        """Fail an attempt."""
        self.open.pop(pick % len(self.open)).checkout.abort()

    @precondition(lambda self: self.offered)
    @rule(pick=st.integers(0, 5))
    def choose(self, pick: int) -> None:
        """Commit one of the finished attempts; the others have lost."""
        last, _ = self.committed[-1]
        found = [o for o in self.offered if o[0].version in (last.version, last.version + 1)]
        if found:
            self.committed.append(found[pick % len(found)])
        self.offered.clear()

    @rule()
    def restart(self) -> None:
        """Continue in a new process, without open versions and memory."""
        self.snapshots_are_done()
        if self.background is not None:
            self.background = BackgroundUpkeep(clock=self.clock)
        for number in range(len(self.processes)):
            self.kill(number)
        memory._CLOSED.clear()

    @rule(number=st.integers(0, 2))
    def kill(self, number: int) -> None:
        """Kill one process; the other continues."""
        number %= len(self.processes)
        process = self.processes[number]
        for attempt in [each for each in self.open if each.process is process]:
            attempt.checkout._base.close()
            attempt.checkout._resources.directory.release()
            self.open.remove(attempt)
        if process is not None:
            for kept in process._kept.values():
                kept.version.base.close()
                kept.version.directory.release()
            self.processes[number] = self.new_process()

    @precondition(lambda self: not self.open)
    @rule()
    def lose_local_disk(self) -> None:
        """Continue on another machine."""
        self.restart()
        shutil.rmtree(self.root / "local", ignore_errors=True)

    @rule(hours=st.sampled_from((0.5, 2)), kept=st.integers(3, 5))
    def collect(self, hours: float, kept: int) -> None:
        """Remove objects without a retained pointer during attempts."""
        self.clock.advance(timedelta(hours=hours))
        del self.committed[:-kept]
        keep = {_TASK: [pointer for pointer, _ in self.committed]}
        age = timedelta(days=10_000) if self.offered or self.open else timedelta(hours=1)
        collect_garbage(self.log, keep, clock=self.clock, min_age=age)
        if not (self.offered or self.open):
            named = {ref.name for pointer, _ in self.committed for ref in pointer.objects()}
            packs = packs_prefix("app"), packs_prefix("app", "epoch")
            sweep_batch_objects(self.log, *packs, last=self.names, named=named)

    @invariant()
    def pointers_stay_readable(self) -> None:
        """Assert that each retained pointer refers to existing objects."""
        present = set(self.log.list(""))
        for pointer, _ in [*self.committed, *self.offered]:
            assert {ref.name for ref in pointer.objects()} <= present

    def teardown(self) -> None:
        if not hasattr(self, "root"):
            return
        self.restart()
        for pointer, model in self.committed:
            checkout = self.checkout(pointer)
            assert _contents(checkout.store) == model
            assert _looked_up(checkout.store, model) == model
            checkout.abort()
        assert not list((self.root / "local").rglob("locks/*"))
        shutil.rmtree(self.root)


def _empty() -> Model:
    return {store: {} for store in _STORES}


def _applied(model: Model, changes: dict[str, StoreChanges]) -> Model:
    both: dict[str, dict[bytes, bytes | None]] = {}
    for store in _STORES:
        changed = changes.get(store, StoreChanges())
        kept = {
            key: value
            for key, value in model[store].items()
            if not any(start <= key < end for start, end in changed.ranges)
        }
        both[store] = {**kept, **dict(changed.pairs)}
    return {
        store: {key: value for key, value in pairs.items() if value is not None}
        for store, pairs in both.items()
    }


def _contents(store: WorkingStore) -> Model:
    return {name: dict(store.scan(name, None, None)) for name in _STORES}


def _looked_up(store: WorkingStore, model: Model) -> Model:
    """Look up all keys and scan backwards in parts; return the contents."""
    found: Model = {}
    for name in _STORES:
        keys = [b"", b"never", *sorted(model[name])]
        values = store.multi_get(name, keys)
        assert [store.get(name, key) for key in keys] == values
        found[name] = {k: v for k, v in zip(keys, values, strict=True) if v is not None}
        middle = keys[len(keys) // 2]
        upper = list(store.scan(name, middle, None, reverse=True))
        lower = list(store.scan(name, None, middle, reverse=True))
        assert [*upper, *lower] == sorted(model[name].items(), reverse=True)
    return found


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("in_background", [False, True], ids=["in commits", "in_background"])
@pytest.mark.parametrize(
    ("backend", "examples", "steps", "resident_bytes", "packed"),
    [
        pytest.param(Memory(), 30, 40, 0, False, id="memory"),
        pytest.param(Memory(), 30, 40, 0, True, id="memory, packs"),
        pytest.param(Staying(), 50, 40, 0, False, id="staying"),
        pytest.param(Staying(), 50, 40, 8_000, False, id="resident"),
        pytest.param(Staying(), 50, 40, 8_000, True, id="resident, packs"),
        pytest.param(
            RocksDB(open_bytes=20_000), 15, 40, 0, True, id="rocksdb", marks=pytest.mark.slow
        ),
    ],
)
def test_each_pointer_restores_its_own_state(
    backend: StateBackend,
    examples: int,
    steps: int,
    resident_bytes: int,
    packed: bool,
    in_background: bool,
) -> None:
    check(
        backend,
        examples,
        steps,
        in_background=in_background,
        resident_bytes=resident_bytes,
        packed=packed,
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_pointer_restores_its_own_state_from_s3(bucket: Bucket) -> None:
    store = bucket.settings("versions-model").open()
    list(store.list(""))  # the client is created before the clock of an example runs
    runs = itertools.count()

    def new_log() -> ObjectStore:
        settings = bucket.settings(f"versions-model/{next(runs)}")
        opened = settings.open()
        opened._made = store._made  # one client for all examples
        return opened

    check(RocksDB(), 3, 25, new_log, in_background=True, packed=True)


def check(
    backend: StateBackend,
    examples: int,
    steps: int,
    new_log: Callable[[], ObjectStore] = ObjectDict,
    *,
    in_background: bool,
    resident_bytes: int = 0,
    packed: bool = False,
) -> None:
    members = {
        "backend": backend,
        "new_log": staticmethod(new_log),
        "in_background": in_background,
        "resident_bytes": resident_bytes,
        "packed": packed,
    }
    machine: type[VersionsMachine] = type("Machine", (VersionsMachine,), members)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True
        ),
    )
