"""A copied state has its own objects, also where the original has parts of packs."""

from __future__ import annotations

from pathlib import Path

from kstreams.checkpoint.savepoint.copied_state import copied_state
from kstreams.clock import FakeClock
from kstreams.state.backend.memory import Memory, MemoryStore
from kstreams.state.backend.task_key import TaskKey, new_attempt, packs_prefix
from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.packs import Packs
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.versions import TaskVersions
from tests.support.storage.counting_object_store import ObjectDict

_BATCHES = 24


def test_copy_of_parts_of_packs_has_an_object_of_its_kind_for_each_part(tmp_path: Path) -> None:
    log, target, background = ObjectDict(), ObjectDict(), BackgroundUpkeep(clock=FakeClock())
    upkeep = Upkeep(merge_count=2, max_deltas=4, small_bytes=0)
    pointer, kinds = Pointer.empty(), set[str]()
    for batch in range(_BATCHES):
        versions = TaskVersions(
            Memory(),
            tmp_path,
            log,
            TaskKey("app", "g", 0),
            ["s"],
            upkeep=upkeep,
            background=background,
            packs=Packs(log, packs_prefix("app", "epoch"), batch),
        )
        with versions.checkout(pointer, Attempt(new_attempt(), batch)) as checkout:
            changes = {"s": StoreChanges([(str(batch).encode(), b"x")])}
            pointer = checkout.commit(changes, {})
        background.drain()
        task = TaskKey("fork", "g", 0)
        copy = copied_state(log, target, pointer, task, offsets=False)
        assert copied_state(log, target, pointer, task, offsets=False) == copy
        assert all(ref.part is None for ref in copy.objects())
        assert all(ref.name.endswith(".chunk") for ref in copy.snapshot)
        kinds |= {ref.name.partition(".")[2] for ref in copy.objects()}
        restored = MemoryStore(["s"])
        DurableLog(target, task).restore(copy, restored)
        assert len(list(restored.scan("s", None, None))) == batch + 1
    assert {"chunk", "delta", "1.run"} <= kinds
