"""State that was divided among more partitions gives the results of an app that always had them."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.start.rescale_settings import RescaleSettings
from kstreams.clock import FakeClock
from kstreams.errors import CheckpointMismatchError, MisplacedKeyError
from kstreams.partitioner import partition_of
from kstreams.state.log.loop_objects import rows_by_loop
from kstreams_cli.verification import Verification
from tests.support.apps.rescaled_app import (
    TOPOLOGIES,
    Event,
    RescaledApp,
    counting,
    hopping,
    keeping,
    keeping_by_value,
    regrouping,
)

KEYS = [f"k{number}" for number in range(12)]


@st.composite
def inputs(draw: st.DrawFn) -> tuple[list[list[Event]], int, int]:
    """Draw three batches with rising times, and the old and new number of partitions."""
    batches: list[list[Event]] = []
    time = 0
    for _ in range(3):
        batch: list[Event] = []
        for _ in range(draw(st.integers(1, 25))):
            time += draw(st.integers(0, 9))
            topic = draw(st.sampled_from(["events", "numbers"]))
            batch.append((topic, draw(st.sampled_from(KEYS)), draw(st.integers(0, 3)), time))
        batches.append(batch)
    before = draw(st.integers(1, 4))
    return batches, before, draw(st.integers(before, 6))


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.timeout(300)
@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # an example takes seconds
)
@given(drawn=inputs())
def test_divided_state_gives_results_of_app_that_always_had_the_partitions(
    name: str, drawn: tuple[list[list[Event]], int, int]
) -> None:
    batches, before, now = drawn
    with tempfile.TemporaryDirectory() as home:
        divided = RescaledApp(Path(home, "divided"), TOPOLOGIES[name](), before)
        always = RescaledApp(Path(home, "always"), TOPOLOGIES[name](), now)
        for number, batch in enumerate(batches):
            if number == 1:
                divided.rescale(now)
            divided.run(batch)
            always.run(batch)
        for app in (divided, always):
            app.close_windows()
        assert divided.results() == always.results()


FIRST: list[Event] = [("events", key, 1, time) for time, key in enumerate(KEYS)]


def test_division_places_each_key_once_and_keeps_its_count(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, counting(), 2)
    app.run(FIRST)
    app.rescale(5)
    app.run(FIRST)
    expected = [f"count {key} {number}" for key in KEYS for number in (1, 2)]
    assert sorted(app.results().elements()) == sorted(expected)


def test_records_in_loop_move_to_tasks_of_their_keys(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, hopping(3), 2)
    app.write([("events", key, 3, 0) for key in KEYS])
    (query,) = app.app.queries.values()
    query.step()
    assert query.driver.last is not None
    assert rows_by_loop(query.driver.last.loops) == {"again": len(KEYS)}
    app.rescale(5)
    app.app.run()
    visits = Counter(f"k{int(key[1:]) + hop}" for key in KEYS for hop in range(4))
    expected = {
        f"hop {key} {number}" for key, most in visits.items() for number in range(1, most + 1)
    }
    assert set(app.results()) <= expected
    assert {f"hop {key} {most}" for key, most in visits.items()} <= set(app.results())


def test_division_keeps_savepoint_of_old_partitions_readable(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, counting(), 2)
    app.run(FIRST)
    checkpoint = Checkpoint.load(app.app.settings.checkpoint)
    Savepoints(checkpoint, checkpoint.log.open()).create("before", FakeClock(0))
    app.rescale(5)
    app.run(FIRST)
    made = Checkpoint.load(app.app.settings.checkpoint)
    found = Verification(made, made.log.open())
    list(found.parts())
    assert not found.problems
    assert not found.strays


def test_start_with_more_partitions_without_permission_names_the_command(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, counting(), 2)
    app.run(FIRST)
    app.grow(3)
    with pytest.raises(CheckpointMismatchError, match="divide the store with `kstreams rescale`"):
        app.start()


def test_unread_records_in_old_partitions_stop_the_division_unless_allowed(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, counting(), 2)
    app.run(FIRST)
    app.write([("events", "k1", 1, 99)])
    app.grow(3)
    with pytest.raises(CheckpointMismatchError, match="'events' has 1 unread records in the 2"):
        app.start(RescaleSettings())
    app.start(RescaleSettings(allow_unread=True))


def test_allowed_unread_record_is_counted_by_task_of_its_old_partition(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, counting(), 1)
    app.run(FIRST)
    moved = next(key for key in KEYS if partition_of(key.encode(), 3))
    app.write([("events", moved, 1, 99)])
    app.grow(3)
    app.start(RescaleSettings(allow_unread=True))
    app.app.run()
    assert app.results()[f"count {moved} 1"] == 2


def test_allowed_unread_record_of_a_join_is_reported_as_misplaced(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, TOPOLOGIES["tables"](), 1)
    app.run(FIRST)
    moved = next(key for key in KEYS if partition_of(key.encode(), 3))
    app.write([("events", moved, 1, 99)])
    app.grow(3)
    app.start(RescaleSettings(allow_unread=True))
    with pytest.raises(MisplacedKeyError):
        app.app.run()


def test_store_of_custom_processor_is_divided_only_if_named(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, keeping(), 2)
    app.run(FIRST)
    app.grow(3)
    with pytest.raises(CheckpointMismatchError, match="pass --by-key seen to `kstreams rescale`"):
        app.start(RescaleSettings(by_key=frozenset({"kept"})))
    app.start(RescaleSettings(by_key=frozenset({"kept", "seen"})))


def test_keys_that_are_not_record_keys_stop_the_division_and_change_nothing(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, keeping_by_value(), 2)
    app.run([("events", key, number, 0) for number, key in enumerate(KEYS)])
    before = (app.home / "app" / "app.json").read_bytes()
    with pytest.raises(CheckpointMismatchError, match="keys of the store are not the keys of"):
        app.rescale(3)
    assert (app.home / "app" / "app.json").read_bytes() == before


def test_store_with_changelog_is_divided_only_with_another_changelog_topic(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, counting(changelog="log-1"), 2)
    app.run(FIRST)
    app.grow(3)
    with pytest.raises(CheckpointMismatchError, match="give the changelog a topic with another"):
        app.start(RescaleSettings())
    app.topology = counting(changelog="log-2")
    app.start(RescaleSettings())


def test_new_partitions_are_read_from_their_start_also_by_source_that_starts_at_the_end(
    tmp_path: Path,
) -> None:
    app = RescaledApp(tmp_path, counting(start="latest"), 1)
    app.run(FIRST)
    app.grow(4)
    app.write(FIRST)
    app.start(RescaleSettings(allow_unread=True))  # of the old partition, for its own keys
    app.app.run()
    expected = [f"count {key} {number}" for key in KEYS for number in (1, 2)]
    assert sorted(app.results().elements()) == sorted(expected)


def test_only_more_refuses_fewer_partitions(tmp_path: Path) -> None:
    app = RescaledApp(tmp_path, regrouping(4), 2)
    app.run(FIRST)
    app.topology = regrouping(3)
    with pytest.raises(CheckpointMismatchError, match="4 partitions before, now 3"):
        app.start(RescaleSettings(only_more=True))
    app.start(RescaleSettings())
    app.run(FIRST)
    expected = [f"count {key} {number}" for key in KEYS for number in (1, 2)]
    assert sorted(app.results().elements()) == sorted(expected)
