"""A changed topology keeps its stores, and empties or migrates one only on request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    Serde,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    key_value_store,
)
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.migration import Migration
from kstreams.checkpoint.start.upgrade import Upgrade, upgrade
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.durations import minutes
from kstreams.errors import CheckpointMismatchError, KStreamsError, ProcessingError
from kstreams.ids import TaskId, TopicPartition, text_keys
from kstreams.key_part import partition_by_part as by_part
from kstreams.state.backend.memory import Memory, MemoryStore
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.window.kind import window_store
from kstreams.state.stores.window.rows import WindowRows
from kstreams.state.versions.versions import TaskVersions
from kstreams.windowed import Windowed

A = Topic("a", TEXT, INT64)
B = Topic("b", TEXT, INT64)

FIRST = TaskId("a", 0)


def kv(name: str = "s", value: Serde[Any] = INT64) -> StoreSpec[Any]:
    return key_value_store(name, key=TEXT, value=value)


def topology(*stores: StoreSpec[Any], topics: Collection[Topic[Any, Any]] = (A,)) -> Topology:
    builder = TopologyBuilder("shape")
    for topic in topics:
        source = builder.add_source(topic.name, topic)
        own = stores if topic is next(iter(topics)) else ()
        name = f"keep-{topic.name}"
        builder.add_processor(name, filter_(lambda k, v: True), source, stores=own)
    return builder.build()


class AppCheckpoint:
    """The checkpoint of an app, without Spark."""

    def __init__(self, path: Path, first: Topology) -> None:
        self.path = path
        tasks = {group.name: 2 for group in first.groups}
        self.checkpoint = Checkpoint.open(home_of(path), "app", first, tasks=tasks)
        self.objects = self.checkpoint.log.open()
        self.records: Callable[[str], int] | None = None

    def commit(self, batch: int, fill: Callable[[Overlay], None], *specs: StoreSpec[Any]) -> None:
        """Commit a batch that fills the stores of both tasks of group `a`."""
        tasks = {}
        for partition in range(2):
            task = self.checkpoint.task_key("a", TaskId("a", partition))
            versions = TaskVersions(
                Memory(), self.path / "local", self.objects, task, [s.name for s in specs]
            )
            attempt = Attempt(new_attempt(), batch)
            with versions.checkout(Pointer.empty(), attempt) as checkout:
                overlay = Overlay(checkout.store)
                fill(overlay)
                pointer = checkout.commit(overlay.changes(), {"next": {f"a/{partition}": 7}})
            tasks[TaskId("a", partition)] = pointer.to_json()
        commit = Commit(batch, "run", 5, tasks, topics={"a": "id-of-a"})
        self.checkpoint.commits("a", self.objects).append(commit)

    def upgrade(
        self,
        new: Topology,
        *,
        tasks: int = 2,
        migrate: Mapping[str, Migration] | None = None,
        reset: Collection[str] = (),
    ) -> Checkpoint:
        counts = {group.name: tasks for group in new.groups}
        settings = AppSettings(
            "app", home_of(self.path), migrate=migrate or {}, reset=frozenset(reset)
        )
        wanted = Upgrade(settings, new, counts, self.objects, "run", self.records)
        self.checkpoint = upgrade(Checkpoint.load(home_of(self.path)), wanted)
        assert Checkpoint.load(home_of(self.path)) == self.checkpoint
        return self.checkpoint

    def last(self, query: str = "a") -> Commit:
        found = self.checkpoint.commits(query, self.objects).last()
        assert found is not None
        return found

    def live(self, spec: StoreSpec[Any], task: TaskId = FIRST) -> Any:
        pointer = self.last().pointers()[task]
        store = MemoryStore(sorted({*pointer.stores, spec.name}))
        DurableLog(self.objects, self.checkpoint.task_key("a", task)).restore(pointer, store)
        return spec.open(Overlay(store))


def filled(path: Path, *specs: StoreSpec[Any], first: Topology | None = None) -> AppCheckpoint:
    """Create a checkpoint whose key-value stores hold a=1, b=2."""
    app = AppCheckpoint(path, first or topology(*specs))

    def fill(overlay: Overlay) -> None:
        for spec in specs:
            live = spec.open(overlay)
            live.put("a", 1)
            live.put("b", 2)

    app.commit(3, fill, *specs)
    return app


def test_upgrade_without_change_does_nothing(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    before = app.checkpoint
    assert app.upgrade(topology(kv()), reset={"s"}) == before


def test_change_without_effect_on_state_keeps_epoch(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    made = app.upgrade(topology(kv(), kv("t")))
    assert (made.epoch_numbers, app.last().batch) == ({}, 3)
    assert dict(app.live(kv()).range()) == {"a": 1, "b": 2}


def test_added_source_begins_epoch_with_previous_state_and_offsets(tmp_path: Path) -> None:
    first = topology(kv())
    app = filled(tmp_path, kv(), first=first)
    builder = TopologyBuilder("shape")
    a, b = builder.add_source("a", A), builder.add_source("b", B)
    builder.add_processor("keep-a", filter_(lambda k, v: True), a, stores=[kv()])
    builder.add_processor("keep-b", filter_(lambda k, v: True), b, stores=[kv()])
    made = app.upgrade(builder.build())
    assert made.epoch_numbers == {"a": 1}
    made.done_notes("a").begin(3)
    assert (tmp_path / "generations" / "1" / "a" / "done" / "3").exists()
    assert made.epoch("a") != made.checkpoint_id
    assert (app.last().batch, text_keys(app.last().positions)) == (SEED, {"a/0": 7, "a/1": 7})
    assert app.last().topics == {"a": "id-of-a"}
    assert dict(app.live(kv()).range()) == {"a": 1, "b": 2}


def test_upgrade_with_added_query_keeps_existing_query(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    made = app.upgrade(topology(kv(), topics=[A, B]))
    assert (made.epoch_numbers, set(made.queries)) == ({}, {"a", "b"})
    assert made.commits("b", app.objects).last() is None


@pytest.mark.parametrize(
    ("new", "tasks", "expected_text"),
    [
        (topology(kv(value=DOUBLE)), 2, "would be misread: value was int64, now double"),
        (
            topology(kv("t")),
            2,
            "store 's' is no longer in the topology: its rows would be",
        ),
        (topology(), 2, "reset={'s'}"),
        (topology(kv()), 3, "2 partitions before, now 3"),
        (
            topology(kv(), topics=[Topic("a", DOUBLE, INT64)]),
            2,
            "keys were routed by murmur2 of text, now by murmur2 of double",
        ),
        (
            topology(kv(), topics=[Topic("a", TEXT, INT64, partitioner=by_part(len, key=TEXT))]),
            2,
            "keys were routed by murmur2 of text, now by part-len of text",
        ),
        (topology(timestamped_store("s", key=TEXT, value=INT64)), 2, "kind was key-value"),
    ],
    ids=["serde", "renamed", "removed", "partitions", "routing", "part", "kind"],
)
def test_change_that_would_empty_or_misread_store_is_rejected(
    tmp_path: Path, new: Topology, tasks: int, expected_text: str
) -> None:
    app = filled(tmp_path, kv())
    before = (tmp_path / "app.json").read_text()
    with pytest.raises(CheckpointMismatchError) as caught:
        app.upgrade(new, tasks=tasks)
    assert expected_text in caught.value.message
    assert "The whole plan:" in caught.value.message
    assert (tmp_path / "app.json").read_text() == before


def test_reset_empties_one_store_and_keeps_other_stores(tmp_path: Path) -> None:
    app = filled(tmp_path, kv(), kv("other"))
    app.upgrade(topology(kv(value=DOUBLE), kv("other")), reset={"s"})
    assert list(app.live(kv(value=DOUBLE)).range()) == []
    assert dict(app.live(kv("other")).range()) == {"a": 1, "b": 2}
    assert app.last().pointers()[TaskId("a", 0)].meta == {"next": {"a/0": 7}}
    again = app.checkpoint
    assert app.upgrade(topology(kv(value=DOUBLE), kv("other")), reset={"s"}) == again


def test_migration_converts_values_and_drops_rows_whose_new_value_is_none(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    change = Migration(kv(), lambda key, value: None if key == "b" else value / 2)
    app.upgrade(topology(kv(value=DOUBLE)), migrate={"s": change})
    assert dict(app.live(kv(value=DOUBLE)).range()) == {"a": 0.5}
    assert dict(app.live(kv(value=DOUBLE), TaskId("a", 1)).range()) == {"a": 0.5}
    # A migration that stays in the program is not applied again, now or at the next change.
    app.upgrade(topology(kv(value=DOUBLE), kv("t"), topics=[A, B]), migrate={"s": change})
    assert dict(app.live(kv(value=DOUBLE)).range()) == {"a": 0.5}


def test_store_is_renamed_with_its_contents(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    app.upgrade(topology(kv("t")), migrate={"t": Migration(kv())})
    assert dict(app.live(kv("t")).range()) == {"a": 1, "b": 2}
    assert app.last().pointers()[TaskId("a", 0)].stores == ("t",)


@pytest.mark.parametrize("kind", [timestamped_store, window_store, session_store])
def test_migration_keeps_times_of_rows(tmp_path: Path, kind: Any) -> None:
    old, new = kind("s", key=TEXT, value=INT64), kind("s", key=TEXT, value=DOUBLE)
    app = AppCheckpoint(tmp_path, topology(old))

    def fill(overlay: Overlay) -> None:
        live = old.open(overlay)
        if kind is timestamped_store:
            live.put("a", 1, 77)
        elif kind is window_store:
            live.put(Windowed("a", 60, 77), 1, 77)
        else:
            live.put(Windowed("a", 60, 77), 1)

    app.commit(0, fill, old)
    change = Migration(old, lambda key, value: value + 0.5)
    app.upgrade(topology(new), migrate={"s": change})
    live = app.live(new)
    if kind is timestamped_store:
        assert live.get("a") == (1.5, 77)
    elif kind is window_store:
        assert WindowRows.of(live).reader()((60, "a")) == (1.5, 77)
    else:
        assert list(live.fetch("a")) == [(Windowed("a", 60, 77), 1.5)]


def versioned(value: Serde[Any] = INT64) -> StoreSpec[Any]:
    return versioned_key_value_store("s", key=TEXT, value=value, retention=minutes(10))


def history(live: Any, key: str) -> list[tuple[Any, int, int | None]]:
    return [(v.value, v.timestamp, v.valid_to) for v in live.history(key)]


def fill_versions(overlay: Overlay) -> None:
    live = versioned().open(overlay)
    for key, value, time in (("a", 1, 10), ("a", 2, 20), ("b", 3, 10), ("b", None, 30)):
        live.put(key, value, time)
    for value, time in ((4, 5), (None, 15), (6, 25)):
        live.put("c", value, time)


def test_migration_of_versioned_store_keeps_times_and_turns_none_into_deletion_at_its_time(
    tmp_path: Path,
) -> None:
    app = AppCheckpoint(tmp_path, topology(versioned()))
    app.commit(0, fill_versions, versioned())
    change = Migration(versioned(), lambda key, value: None if value == 2 else value + 0.5)
    app.upgrade(topology(versioned(DOUBLE)), migrate={"s": change})
    live = app.live(versioned(DOUBLE))
    assert history(live, "a") == [(1.5, 10, 20)]
    assert history(live, "b") == [(3.5, 10, 30)]
    assert history(live, "c") == [(4.5, 5, 15), (6.5, 25, None)]
    live.put("b", 1.0, 29)
    assert live.get("b") is None  # the deletion at 30 is remembered


@pytest.mark.parametrize("way", ["reset", "migrate"])
def test_timestamped_store_becomes_versioned_and_back_by_reset_or_migration(
    tmp_path: Path, way: str
) -> None:
    plain = timestamped_store("s", key=TEXT, value=INT64)
    app = AppCheckpoint(tmp_path, topology(versioned()))
    app.commit(0, fill_versions, versioned())
    for old, new, change in (
        (versioned(), plain, "kind was versioned, now timestamped"),
        (plain, versioned(), "kind was timestamped, now versioned"),
    ):
        with pytest.raises(CheckpointMismatchError, match=change) as caught:
            app.upgrade(topology(new))
        assert "migrate={'s': Migration(" in caught.value.message
        if way == "reset":
            app.upgrade(topology(new), reset={"s"})
            assert list(app.live(new).range()) == []
        else:
            app.upgrade(topology(new), migrate={"s": Migration(old)})
            rows = dict(app.live(new).range())
            if new is plain:
                assert rows == {"a": (2, 20), "c": (6, 25)}
            else:
                assert history(app.live(new), "a") == [(2, 20, None)]


@pytest.mark.parametrize(
    ("migration", "error", "expected_text"),
    [
        (Migration(kv(value=DOUBLE)), CheckpointMismatchError, "differs from the stored one"),
        (Migration(kv(), lambda k, v: 1 / 0), ProcessingError, "ZeroDivisionError"),
        (Migration(kv(), lambda k, v: "text"), KStreamsError, "expected"),
    ],
    ids=["wrong old definition", "raises", "wrong type"],
)
def test_failing_migration_changes_nothing(
    tmp_path: Path, migration: Migration, error: type[Exception], expected_text: str
) -> None:
    app = filled(tmp_path, kv())
    with pytest.raises(error, match=expected_text):
        app.upgrade(topology(kv(value=DOUBLE)), migrate={"s": migration})
    app.upgrade(topology(kv()))
    assert dict(app.live(kv()).range()) == {"a": 1, "b": 2}


def test_reset_and_migration_of_unknown_stores_are_rejected(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    orders = {"t": Migration(kv("nowhere"))}
    with pytest.raises(CheckpointMismatchError, match="but the checkpoint has no store"):
        app.upgrade(topology(kv(), kv("t")), migrate=orders)
    with pytest.raises(CheckpointMismatchError, match="names 'x', but neither"):
        app.upgrade(topology(kv(), kv("t")), reset={"x"})


def test_upgrade_that_joins_stores_of_two_groups_is_rejected(tmp_path: Path) -> None:
    builder = TopologyBuilder("shape")
    for topic, spec in ((A, kv()), (B, kv("t"))):
        source = builder.add_source(topic.name, topic)
        builder.add_processor(f"p-{topic.name}", filter_(lambda k, v: True), source, stores=[spec])
    app = AppCheckpoint(tmp_path, builder.build())
    with pytest.raises(CheckpointMismatchError, match="would have the stores"):
        app.upgrade(topology(kv(), kv("t")))


def test_renamed_source_keeps_state_and_offsets(tmp_path: Path) -> None:
    app = filled(tmp_path, kv())
    builder = TopologyBuilder("shape")
    source = builder.add_source("renamed", A)
    builder.add_processor("keep-a", filter_(lambda k, v: True), source, stores=[kv()])
    made = app.upgrade(builder.build())
    seed = made.commits("renamed", app.objects).last()
    assert seed is not None
    assert seed.positions == {TopicPartition("a", 0): 7, TopicPartition("a", 1): 7}
    pointer = seed.pointers()[TaskId("renamed", 0)]
    store = MemoryStore(["s"])
    key = made.task_key("renamed", TaskId("renamed", 0))
    DurableLog(app.objects, key).restore(pointer, store)
    assert dict(kv().open(Overlay(store)).range()) == {"a": 1, "b": 2}
