"""A store is rebuilt from its changelog as of the last commit, or nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kstreams import INT64, TEXT, Embedded, Topic, Topology, TopologyBuilder, View, filter_
from kstreams.app import ForkSource
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.fork import fork
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.upgrade import Upgrade, upgrade
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import (
    CheckpointMismatchError,
    DeserializationError,
    ExecutionError,
    StateCorruptError,
    TopicRecreatedError,
)
from kstreams.ids import TaskId, TopicPartition, text_keys
from kstreams.partitioner import partition_of
from kstreams.state import Memory
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.versions.versions import TaskVersions
from kstreams.task.output.changelogs import Changelogs
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.testing import FakeClock
from kstreams_admin.changelog_restore import ChangelogRestore, Rebuilt

PARTITIONS = 2
PLAIN = key_value_store("s", key=TEXT, value=INT64)
LOGGED = PLAIN.with_changelog("s-log")
OTHER = key_value_store("other", key=TEXT, value=INT64)


def topology(*specs: StoreSpec[Any]) -> Topology:
    builder = TopologyBuilder("app")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_processor("keep", filter_(lambda k, v: True), source, stores=specs)
    return builder.build()


class Logging:
    """An app without Spark whose batches write changelogs to embedded topics."""

    def __init__(self, home: Path, *specs: StoreSpec[Any]) -> None:
        self.connection = Embedded(home / "topics", durable=False)
        self.path = home / "checkpoint"
        self.specs = specs
        self.topology = topology(*specs)
        self.checkpoint = Checkpoint.open(
            home_of(self.path), "app", self.topology, tasks={"in": PARTITIONS}
        )
        self.objects = self.checkpoint.log.open()
        self.pointers = {p: Pointer.empty() for p in range(PARTITIONS)}
        self.batch = -1

    def commit(self, pairs: Mapping[str, int | None], *, counts: bool = True) -> None:
        """Put pairs into all stores; with `counts=False` write only changelogs."""
        batch = self.batch + 1
        for partition, pointer in list(self.pointers.items()):
            task = self.checkpoint.task_key("in", TaskId("in", partition))
            names = [spec.name for spec in self.specs]
            versions = TaskVersions(Memory(), self.path / "local", self.objects, task, names)
            with versions.checkout(pointer, Attempt(new_attempt(), batch)) as checkout:
                overlay, meta = Overlay(checkout.store), TaskMeta.from_json(dict(pointer.meta))
                meta.next_offsets[TopicPartition("in", partition)] = batch + 1
                for key, value in pairs.items():
                    if partition_of(key.encode(), PARTITIONS) == partition:
                        for spec in self.specs:
                            spec.open(overlay).put(key, value)
                changes = overlay.changes()
                logs = Changelogs(self.specs, overlay, meta, {}, ids=self._ids())
                tables = logs.tables(changes, 1)
                for table in tables.values():
                    self._append(table, partition, batch)
                if counts:
                    self.pointers[partition] = checkout.commit(changes, meta.to_json())
        if counts:
            self.batch = batch
            tasks = {TaskId("in", p): pointer.to_json() for p, pointer in self.pointers.items()}
            log = self.checkpoint.commits("in", self.objects)
            positions = {TopicPartition("in", partition): 1 for partition in range(2)}
            topics = {"in": "id-of-in"}
            commit = Commit(batch, "run", 5, tasks, positions=positions, topics=topics)
            log.append(commit)

    def _ids(self) -> dict[str, str]:
        """Return the ids of the changelog topics, as looked up at a start."""
        topics = {spec.name: spec.changelog for spec in self.specs if spec.changelog}
        for topic in topics.values():
            self.connection.log().ensure(topic, PARTITIONS)
        admin = self.connection.admin()
        return {store: admin.ends(topic).topic_id for store, topic in topics.items()}

    def _append(self, table: pa.Table, partition: int, batch: int) -> None:
        topic = table.column("topic")[0].as_py()
        log = self.connection.log()
        log.ensure(topic, PARTITIONS)
        epoch = self.checkpoint.epoch("in")
        ids = [
            [{"key": "kstreams-id", "value": f"{epoch}/in/{partition}/x/{batch}/{n}".encode()}]
            for n in range(table.num_rows)
        ]
        headers = pa.array(ids, table.schema.field("headers").type)
        rows = table.select(["timestamp", "key", "value"]).append_column("headers", headers)
        log.append(topic, partition, rows, producer=f"{topic}/{batch}/{id(rows)}", batch=batch)

    def lose_state(self) -> None:
        self.objects.delete(
            ref.name for pointer in self.pointers.values() for ref in pointer.objects()
        )

    def restore(self, *names: str, by: Topology | None = None) -> list[Rebuilt]:
        job = ChangelogRestore(
            Checkpoint.load(home_of(self.path)),
            by or self.topology,
            self.connection,
            Memory(),
            self.objects,
            "restore",
        )
        seen: list[Rebuilt] = []
        job.run_all(job.stores(names), seen.append)
        return seen

    def read(self, spec: StoreSpec[Any] = PLAIN) -> dict[str, int]:
        with View(self.path, spec) as view:
            return dict(view.items())


PAIRS: Mapping[str, int | None] = {f"k{n}": n for n in range(9)}


def test_restore_rebuilds_lost_store_from_changelog_and_keeps_other_stores(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED)
    app.commit(PAIRS)
    app.commit({"k1": None, "k2": 20, "new": 5})
    expected = app.read()
    app.lose_state()
    with pytest.raises(StateCorruptError):
        app.read()
    seen = app.restore()
    assert [(r.store, r.partition, r.done) for r in seen] == [("s", 0, True), ("s", 1, True)]
    assert sum(r.records for r in seen) == len(PAIRS) + 3
    assert app.read() == expected
    made = Checkpoint.load(home_of(app.path))
    assert made.epoch_numbers == {"in": 1}
    seed = made.commits("in", app.objects).last()
    assert seed is not None
    assert (seed.batch, text_keys(seed.positions)) == (SEED, {"in/0": 2, "in/1": 2})
    assert seed.topics == {"in": "id-of-in"}
    assert [p.meta for p in seed.pointers().values()] == [p.meta for p in app.pointers.values()]


def test_restore_from_recreated_changelog_needs_all_rows_of_store(
    tmp_path: Path,
) -> None:
    app = Logging(tmp_path, LOGGED)
    app.commit(PAIRS)
    app.connection.admin().delete("s-log")
    app.connection.admin().create("s-log", PARTITIONS)
    with pytest.raises(TopicRecreatedError, match="'s-log' of store 's' was deleted") as caught:
        app.restore()
    assert caught.value.where.store == "s"
    assert Checkpoint.load(home_of(app.path)).epoch_numbers == {}
    app.commit({"k1": 100})
    expected = app.read()
    app.lose_state()
    app.restore()
    assert app.read() == expected == {**PAIRS, "k1": 100}


def test_restore_of_one_store_leaves_other_store_unchanged(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED, OTHER)
    app.commit(PAIRS)
    expected = app.read(), app.read(OTHER)
    app.restore("s")
    assert (app.read(), app.read(OTHER)) == expected


def test_restore_changes_nothing_if_another_store_is_lost(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED, OTHER)
    app.commit(PAIRS)
    app.lose_state()
    with pytest.raises(StateCorruptError, match="'other' of the same task have to be rebuilt too"):
        app.restore("s")
    assert Checkpoint.load(home_of(app.path)).epoch_numbers == {}
    both = Logging(tmp_path / "both", LOGGED, OTHER.with_changelog("other-log"))
    both.commit(PAIRS)
    both.lose_state()
    both.restore()
    assert both.read() == both.read(OTHER) == PAIRS


def test_restore_leaves_out_uncommitted_changes(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED)
    app.commit(PAIRS)
    app.commit({"k1": 100, "ghost": 1}, counts=False)
    app.restore()
    assert app.read() == PAIRS


def test_second_restore_leaves_out_uncommitted_changes_of_earlier_epoch(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED)
    app.commit(PAIRS)
    app.commit({"k1": 100, "ghost": 1}, counts=False)
    app.restore()
    app.restore()
    assert app.read() == PAIRS


def test_upgrade_leaves_out_uncommitted_changes_of_earlier_epoch(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED, OTHER)
    app.commit(PAIRS)
    app.commit({"k1": 100, "ghost": 1}, counts=False)
    changed = topology(LOGGED, key_value_store("other", key=TEXT, value=TEXT))
    settings = AppSettings("app", home_of(app.path), reset=frozenset({"other"}))
    wanted = Upgrade(settings, changed, {"in": PARTITIONS}, app.objects, "run")
    upgrade(Checkpoint.load(home_of(app.path)), wanted)
    app.restore(by=changed)
    assert app.read() == PAIRS


def test_changelog_added_to_existing_store_includes_earlier_rows_after_first_commit(
    tmp_path: Path,
) -> None:
    app = Logging(tmp_path, PLAIN)
    app.commit(PAIRS)
    app.specs = (LOGGED,)
    with pytest.raises(ExecutionError, match="does not have all rows of store 's': partition 0"):
        app.restore(by=topology(LOGGED))
    app.commit({"k1": 10})
    app.lose_state()
    app.restore(by=topology(LOGGED))
    assert app.read() == {**PAIRS, "k1": 10}


def test_restored_app_can_be_restored_a_second_time(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED)
    app.commit(PAIRS)
    app.restore()
    app.restore()
    assert app.read() == PAIRS
    assert Checkpoint.load(home_of(app.path)).epoch_numbers == {"in": 2}


def test_restore_reports_why_store_cannot_be_rebuilt(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED)
    with pytest.raises(ExecutionError, match="has committed nothing"):
        app.restore()
    app.commit(PAIRS)
    with pytest.raises(CheckpointMismatchError, match=r"no store 'x' with a changelog; .* 's'"):
        app.restore("x")
    with pytest.raises(CheckpointMismatchError, match="no store of topology 'app' has"):
        app.restore(by=topology(PLAIN))
    other = key_value_store("s", key=TEXT, value=TEXT).with_changelog("s-log")
    with pytest.raises(CheckpointMismatchError, match="name the topology that the app ran last"):
        app.restore(by=topology(other))
    bad = pa.table({"timestamp": [1], "key": [b"k"], "value": [b"no int64"[:3]]})
    app.connection.log().append("s-log", 0, bad, producer="stranger", batch=0)
    with pytest.raises(DeserializationError) as caught:
        app.restore()
    assert (caught.value.where.topic, caught.value.where.partition) == ("s-log", 0)
    assert Checkpoint.load(home_of(app.path)).epoch_numbers == {}


def test_fork_and_reset_store_begin_new_changelog(tmp_path: Path) -> None:
    app = Logging(tmp_path, LOGGED, OTHER.with_changelog("other-log"))
    app.commit(PAIRS)
    Savepoints(app.checkpoint, app.objects).create("now", FakeClock())
    made = fork(ForkSource(app.path, "now"), tmp_path / "fork", "copy")
    seed = made.commits("in", made.log.open()).last()
    assert seed is not None
    assert [sorted(p.meta) for p in seed.pointers().values()] == [["due", "next", "time"]] * 2

    changed = key_value_store("s", key=TEXT, value=TEXT).with_changelog("s-log")
    wanted = Upgrade(
        AppSettings("app", home_of(app.path), reset=frozenset({"s"})),
        topology(changed, *app.specs[1:]),
        {"in": PARTITIONS},
        app.objects,
        "run",
    )
    upgraded = upgrade(Checkpoint.load(home_of(app.path)), wanted).commits("in", app.objects).last()
    assert upgraded is not None
    assert [list(p.meta["logs"]) for p in upgraded.pointers().values()] == [["other"]] * 2
    assert [list(p.meta["log_ids"]) for p in upgraded.pointers().values()] == [["other"]] * 2
