"""Recorded parameters of stores are compared by all readers of state."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, View
from kstreams.aggregators import combine, count, field, max_, over, sum_, top_n
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import FakeClock
from kstreams.durations import minutes, seconds
from kstreams.emit import each_update, every, on_close
from kstreams.errors import CheckpointMismatchError, StateCorruptError, TopologyError
from kstreams.graph.topology import parameters_in, without_parameters
from kstreams.processors.emission import Emission
from kstreams.spark.frames.inherited import Inherited
from kstreams.spark.frames.layout import Layout
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import TumblingWindows, windowed_aggregate
from tests.kstreams.checkpoint.upgrade_topologies import feed, results, started, windows_of
from tests.support.apps.committing_app import Committing
from tests.support.apps.one_query import WholeQuery

ONE, SEVEN = (TumblingWindows(minutes(n)) for n in (1, 7))
SAID = "windows size was 0:01:00, now 0:07:00"


def counted(windows: Any, emit: Emission | None = None) -> Topology:
    return windows_of(windows, count(), emit or on_close())


def test_recorded_parameters_are_stable_across_releases() -> None:
    own = {"windows": "TumblingWindows", "windows.size_ms": 60_000, "windows.grace_ms": 2_000}
    windows = TumblingWindows(minutes(1), grace=seconds(2))
    emit = every(seconds(5))
    assert windows_of(windows, top_n(3, INT64), emit).shape()["in"]["parameters"] == {
        "s": {**own, "aggregator": "top_n(3)"},
        "s-waiting": {**own, "aggregator": "top_n(3)", "emit.interval_ms": 5_000},
    }
    parts = combine(count(), over(field("price", INT64), sum_(INT64)), over(len, max_(INT64)))
    found = windows_of(windows, parts, on_close()).shape()["in"]["parameters"]["s"]
    assert found["aggregator"] == "combine(count, sum of field 'price', max of a function)"


def test_checkpoint_without_parameters_opens_and_records_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    query = started(tmp_path, counted(ONE), [(1_000, "a", 1)])
    home = home_of(tmp_path / "checkpoint")
    made = Checkpoint.load(home)
    replace(made, shape=without_parameters(made.shape)).save()
    with caplog.at_level(logging.INFO, "kstreams.checkpoint.start.upgrade"):
        query.upgrade(counted(ONE))
    assert "this start does not compare them, and records them" in caplog.text
    assert Checkpoint.load(home).epoch_numbers == {}
    feed(query, [(61_000, "a", 1)])
    assert results(query) == ["a@0/60000=1@1000"]
    with pytest.raises(CheckpointMismatchError, match=SAID):
        query.upgrade(counted(SEVEN))


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, 1.5])
def test_recorded_parameter_of_wrong_type_is_rejected(tmp_path: Path, value: object) -> None:
    started(tmp_path, counted(ONE), [(1_000, "a", 1)])
    home = home_of(tmp_path / "checkpoint")
    made = Checkpoint.load(home)
    broken: dict[str, Any] = {**made.shape["in"], "parameters": {"s": {"windows": value}}}
    replace(made, shape={"in": broken}).save()
    with pytest.raises(StateCorruptError, match="parameter 'windows' of a store is"):
        Checkpoint.load(home)


def test_fork_with_other_windows_is_rejected(tmp_path: Path) -> None:
    query = started(tmp_path, counted(ONE), [(1_000, "a", 1)])
    query.savepoints.create("before", FakeClock())
    log = query._settings.state.log
    source = ForkSource(tmp_path / "checkpoint", "before", log)
    for name, windows, refused in (("same", ONE, False), ("other", SEVEN, True)):
        home = tmp_path / name
        shutil.copytree(tmp_path / "topics", home / "topics")
        fork = WholeQuery(home, counted(windows), fork=source)
        if refused:
            with pytest.raises(CheckpointMismatchError, match=SAID):
                fork.start()
        else:
            fork.start()


def test_dataframes_reject_savepoint_with_other_windows(tmp_path: Path) -> None:
    query = started(tmp_path, counted(ONE), [(1_000, "a", 1)])
    query.savepoints.create("before", FakeClock())
    source = ForkSource(tmp_path / "checkpoint", "before", query._settings.state.log)
    task = next(iter(query.savepoints.load("before").commits["in"].tasks))
    objects = source.load()[1]
    begin = Inherited(source, counted(ONE).shape(), {"in": 1}).begin
    assert begin(task, TaskKey("copy", *task), objects) is not None
    with pytest.raises(CheckpointMismatchError, match=SAID):
        Inherited(source, counted(SEVEN).shape(), {"in": 1}).begin(
            task, TaskKey("other", *task), objects
        )


def layout(topology: Topology) -> Layout:
    parameters = parameters_in(topology.shape())
    return Layout("app", topology.fingerprint(), ("in",), (1,), parameters=parameters)


def test_dataframes_reject_checkpoint_with_other_windows_and_accept_other_grace() -> None:
    one = layout(counted(ONE))
    layout(counted(TumblingWindows(minutes(1), grace=minutes(1)))).check(one.to_text())
    with pytest.raises(CheckpointMismatchError, match=f"store 's': {SAID}"):
        layout(counted(SEVEN)).check(one.to_text())


def test_dataframes_open_checkpoint_without_parameters() -> None:
    text = '{"app": "app", "shape": "%s", "tasks": {"in": 1}, "origin": ""}'
    layout(counted(SEVEN)).check(text % counted(SEVEN).fingerprint())


def test_view_with_other_windows_is_rejected(tmp_path: Path) -> None:
    def store(windows: Any) -> Any:
        return window_store("s", key=TEXT, value=INT64, windows=windows)

    committing = Committing(tmp_path, store(ONE))
    committing.commit(lambda live, partition: None)
    for windows in (None, ONE, TumblingWindows(minutes(1), grace=minutes(1))):
        View(tmp_path, store(windows)).close()
    with pytest.raises(CheckpointMismatchError, match=f"would be misread: {SAID}"):
        View(tmp_path, store(SEVEN))


def test_nodes_that_share_store_with_different_parameters_are_rejected() -> None:
    store = window_store("s", key=TEXT, value=INT64)
    builder = TopologyBuilder("shared")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    for name, windows in (("one", ONE), ("seven", SEVEN)):
        builder.add_processor(name, windowed_aggregate(windows, count(), store=store), source)
    with pytest.raises(TopologyError, match="nodes 'one' and 'seven' share store 's'") as caught:
        builder.build()
    assert "windows.size_ms is 0:01:00 in one and 0:07:00 in the other" in str(caught.value)


def test_error_suggests_migration_only_for_stores_that_support_it(tmp_path: Path) -> None:
    emit = every(seconds(5))
    query = started(tmp_path, counted(ONE, emit), [(1_000, "a", 1)])
    with pytest.raises(CheckpointMismatchError) as caught:
        query.upgrade(counted(SEVEN, emit))
    assert (
        "a pending store cannot be migrated: begin the store empty with reset={'s-waiting'}"
        in str(caught.value)
    )
    assert "--reset s --reset s-waiting" in caught.value.hint


def test_savepoint_without_recorded_parameters_can_be_forked(tmp_path: Path) -> None:
    query = started(tmp_path, counted(ONE, each_update()), [(1_000, "a", 1)])
    home = home_of(tmp_path / "checkpoint")
    made = Checkpoint.load(home)
    old = replace(made, shape=without_parameters(made.shape)).save()
    log = query._settings.state.log
    assert log is not None
    Savepoints(old, log.open()).create("old", FakeClock())
    shutil.copytree(tmp_path / "topics", tmp_path / "fork" / "topics")
    source = ForkSource(tmp_path / "checkpoint", "old", log)
    fork = WholeQuery(tmp_path / "fork", counted(ONE, each_update()), fork=source)
    fork.start()
    feed(fork, [(2_000, "a", 1)])
    assert results(fork)[-1] == "a@0/60000=2@2000"
