"""`App(on_more_partitions="rescale")` divides state at the start of an app."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from kstreams import App, Embedded, Emitter, View
from kstreams.errors import CheckpointMismatchError
from kstreams.state import Memory
from kstreams.state.backend.working import StateBackend
from kstreams_rocksdb import RocksDB
from tests.support.apps.rescaled_app import COUNTS, EVENTS, add_partitions, counting

pytestmark = pytest.mark.slow

KEYS = [f"k{number}" for number in range(40)]


@pytest.fixture(params=["memory", "rocksdb"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> StateBackend:
    kinds: dict[str, type[Memory | RocksDB]] = {"memory": Memory, "rocksdb": RocksDB}
    return kinds[request.param](directory=str(tmp_path / "local"))


def run(
    home: Path, state: StateBackend, on_more_partitions: Literal["refuse", "rescale"]
) -> dict[str, int]:
    """Emit a record of each key, and run the app to the end; return the counts."""
    topics = Embedded(home / "topics", durable=False)
    app = App(
        counting(),
        topics,
        state=state,
        checkpoint=home / "app",
        engine="embedded",
        on_more_partitions=on_more_partitions,
    )
    with app:
        app.open()
        with Emitter(EVENTS, topics) as emitter:
            emitter.emit_many((key, 1) for key in KEYS)
        app.drain()
    with View(home / "app", COUNTS) as view:
        return {key: found[0] for key, found in view.items()}


def test_app_divides_state_at_start_and_continues(tmp_path: Path, state: StateBackend) -> None:
    admin = Embedded(tmp_path / "topics", durable=False).admin()
    admin.create("events", 2)
    admin.create("results", 1)
    assert run(tmp_path, state, "refuse") == dict.fromkeys(KEYS, 1)
    add_partitions(tmp_path / "topics", "events", 7)
    with pytest.raises(CheckpointMismatchError, match="2 partitions before, now 7"):
        run(tmp_path, state, "refuse")
    assert run(tmp_path, state, "rescale") == dict.fromkeys(KEYS, 2)
    assert run(tmp_path, state, "refuse") == dict.fromkeys(KEYS, 3)
