"""Versions that stay open from batch to batch: what is kept, and what nobody may see."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams.state.backend.working import StateBackend, StoreChanges
from kstreams_rocksdb import RocksDB
from tests.kstreams.state.object_dict import ObjectDict
from tests.kstreams.state.test_versions_model import CHANGES, Staying, VersionsMachine

_STEP = st.tuples(st.integers(0, 19), st.integers(0, 9), CHANGES)
_HISTORY = st.lists(_STEP, min_size=12, max_size=40)


def _live_through(
    history: list[tuple[int, int, dict[str, StoreChanges]]], machine: VersionsMachine
) -> None:
    """Run batches of two processes, and now and then what may go wrong."""
    for action, pick, changes in history:
        if action < 11:
            machine.attempt(0, 2 if pick == 9 else 1)
            machine.commit(len(machine.open) - 1, changes, pick)
            machine.choose(pick)
        elif action < 13 and len(machine.open) < 3:
            machine.attempt(pick % 3, 1 + pick % 2)
        elif action == 13 and machine.open:
            machine.commit(pick, changes, pick)
        elif action == 14 and machine.open:
            machine.abort(pick)
        elif action == 15 and machine.offered:
            machine.choose(pick)
        elif action == 16:
            machine.kill(pick % 3)
        elif action == 17 and pick == 0:
            machine.restart()
        elif action == 18:
            machine.snapshots_are_done()
        elif action == 19:
            machine.collect(2, 3)
        elif not machine.open and pick == 1:
            machine.lose_local_disk()
        machine.pointers_stay_readable()


@pytest.mark.parametrize("beside", [False, True], ids=["in commits", "beside"])
@pytest.mark.parametrize(
    ("backend", "examples"),
    [
        pytest.param(Staying(), 120, id="staying"),
        pytest.param(RocksDB(open_bytes=20_000), 30, id="rocksdb", marks=pytest.mark.slow),
    ],
)
def test_every_pointer_gives_back_its_own_state(
    backend: StateBackend, examples: int, beside: bool
) -> None:
    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(history=_HISTORY)
    def check(history: list[tuple[int, int, dict[str, StoreChanges]]]) -> None:
        members = {"backend": backend, "new_log": staticmethod(ObjectDict), "beside": beside}
        machine: VersionsMachine = type("Machine", (VersionsMachine,), members)()
        machine.begin()
        try:
            _live_through(history, machine)
        finally:
            machine.teardown()

    check()
