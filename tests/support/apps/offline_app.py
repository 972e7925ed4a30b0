"""An app without Spark in the current directory, and the commands of an operator.

Everything of the library is real, including the start on a checkpoint and the command line. Only
the batches are made by hand: plan, state, changelogs, results, commit. The results of the last
batch are not published, as after a kill.

Another app shares the durable log and the topics, and its data must not change. Checkpoints are
directories, or in an object store if there is a file `on-objects`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from kstreams import (
    INT64,
    TEXT,
    Embedded,
    Topic,
    Topology,
    TopologyBuilder,
    View,
    filter_,
    key_value_store,
)
from kstreams.app import ForkSource, Migration
from kstreams.batch.io.embedded.topic_io import publish
from kstreams.batch.io.open_feed import publish_commit
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.resume import resume
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import open_for_running
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.ids import TaskId, TopicPartition
from kstreams.partitioner import partition_of
from kstreams.plugins import plugin_names
from kstreams.state import Memory
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import Commit, Output
from kstreams.state.log.directory import Directory
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.versions.local import open_local_home
from kstreams.state.versions.versions import TaskVersions
from kstreams.task.output.changelogs import Changelogs
from kstreams.task.progress.task_meta import TaskMeta
from kstreams_cli.program import PROGRAM
from kstreams_cli.verification import Verification
from tests.support.storage.entry_point_store import SCHEME, offer, url_of

__all__ = (
    "KEPT",
    "LOG",
    "NEW",
    "OLD",
    "ON_OBJECTS",
    "TOPOLOGY",
    "UPGRADED",
    "batch",
    "command",
    "contents",
    "lose_state",
    "place",
    "problems",
    "published",
    "start",
)

ON_OBJECTS = "on-objects"
PARTITIONS = 2
LOG = Directory("log")
BACKEND = Memory(directory="local", log=LOG)
KEPT = key_value_store("kept", key=TEXT, value=INT64).with_changelog("kept-log")
OLD = key_value_store("old", key=TEXT, value=INT64).with_changelog("old-log")
NEW = key_value_store("new", key=TEXT, value=INT64)
GONE = key_value_store("gone", key=TEXT, value=INT64)


def place(app: str) -> str:
    """Return the path or URL of an app's checkpoint."""
    if Path(ON_OBJECTS).exists():
        if SCHEME not in plugin_names("kstreams.stores"):
            offer(pytest.MonkeyPatch())  # until this process ends
        return url_of(Path(f"{app}.objects"))
    return str(Path(app).absolute())


def connection() -> Embedded:
    return Embedded("topics", durable=False)


def _topology(groups: Mapping[str, tuple[StoreSpec[Any], ...]]) -> Topology:
    builder = TopologyBuilder("app")
    for name, specs in groups.items():
        source = builder.add_source(name, Topic(name, TEXT, INT64))
        builder.add_processor(f"keep-{name}", filter_(lambda k, v: True), source, stores=specs)
    return builder.build()


TOPOLOGY = _topology({"in": (KEPT, OLD), "side": (GONE,)})
UPGRADED = _topology({"in": (KEPT, NEW), "fresh": ()})
"""A topology with a renamed store, without one group and its store, and with a new group."""


def start(
    app: str = "app",
    *,
    upgraded: bool = False,
    fork: str | None = None,
) -> Checkpoint:
    """Do the steps of an app's start up to its first query."""
    topology = UPGRADED if upgraded else TOPOLOGY
    for name in ("in", "side", "fresh", "out", "kept-log", "old-log"):
        connection().log().ensure(name, PARTITIONS)
    home = home_of(place(app))
    lock = home.lock()
    lock.acquire()
    try:
        settings = AppSettings(
            app,
            home,
            state=BACKEND,
            migrate={"new": Migration(OLD)} if upgraded else {},
            reset=frozenset({"gone"} if upgraded else ()),
            fork=None if fork is None else ForkSource(place("app"), fork, log=LOG),
            retained_batches=2,
        )
        tasks = {group.name: PARTITIONS for group in topology.groups}
        publishing = partial(publish_commit, connection(), topology, objects=LOG.open())
        opened = open_for_running(settings, topology, tasks, run="run", publish=publishing)
        return opened[0].checkpoint
    finally:
        lock.release()


def batch(checkpoint: Checkpoint, topology: Topology, pairs: Mapping[str, int]) -> None:
    """Put pairs into all stores, as a batch of each query; its results are not published."""
    objects = LOG.open()
    for group in topology.groups:
        resumed = resume(checkpoint, group.name, objects)
        assert resumed.pending is None
        last, log = resumed.last, checkpoint.commits(group.name, objects)
        if last is not None:
            publish(connection().log(), last.outputs, last.batch)
        number = 0 if last is None else last.batch + 1
        before = {} if last is None else last.pointers()
        read = {TopicPartition(group.name, p): number + 1 for p in range(PARTITIONS)}
        after = None if last is None else last.id
        plan = checkpoint.plans(group.name).write(number, Plan({}, read, after=after))
        tasks, outputs = {}, []
        for partition in range(PARTITIONS):
            name = TaskId(group.name, partition)
            own = {k: v for k, v in pairs.items() if _partition(k) == partition}
            pointer = before.get(name, Pointer.empty())
            tasks[name] = _task(checkpoint, group, partition, pointer, number, own).to_json()
            if own:
                producer = f"{checkpoint.epoch(group.name)}/{name}"
                rows = _rows(group.name, own)
                staged = connection().log().stage("out", partition, rows, owner=producer)
                outputs.append(Output("out", partition, staged, producer))
        log.append(
            Commit(
                number,
                "run",
                number,
                tasks,
                outputs=tuple(outputs),
                positions=read,
                after=after,
                plan=plan.digest,
            )
        )


def _task(
    checkpoint: Checkpoint,
    group: Any,
    partition: int,
    pointer: Pointer,
    number: int,
    pairs: Mapping[str, int],
) -> Pointer:
    key = checkpoint.task_key(group.name, TaskId(group.name, partition))
    home = open_local_home(BACKEND, checkpoint.app, checkpoint.incarnation)
    specs = group.stores
    versions = TaskVersions(BACKEND, home, LOG.open(), key, [spec.name for spec in specs])
    with versions.checkout(pointer, Attempt(new_attempt(), number)) as checkout:
        overlay, meta = Overlay(checkout.store), TaskMeta.from_json(dict(pointer.meta))
        meta.next_offsets[TopicPartition(group.name, partition)] = number + 1
        for spec in specs:
            store = spec.open(overlay)
            for name, value in pairs.items():
                store.put(name, value)
        changes = overlay.changes()
        logged = [spec for spec in specs if spec.changelog]
        with closing(connection().admin()) as admin:
            ends = {s.name: admin.end_offsets(str(s.changelog))[partition] for s in logged}
        for table in Changelogs(logged, overlay, meta, ends).tables(changes, 1).values():
            _log_changes(checkpoint, group.name, table, partition, number)
        return checkout.commit(changes, meta.to_json())


def _log_changes(
    checkpoint: Checkpoint, query: str, table: pa.Table, partition: int, number: int
) -> None:
    epoch = checkpoint.epoch(query)
    ids = [
        [{"key": "kstreams-id", "value": f"{epoch}/{query}/{partition}/x/{number}/{n}".encode()}]
        for n in range(table.num_rows)
    ]
    headers = pa.array(ids, table.schema.field("headers").type)
    rows = table.select(["timestamp", "key", "value"]).append_column("headers", headers)
    topic = table.column("topic")[0].as_py()
    connection().log().append(topic, partition, rows, producer=f"{epoch}/{query}", batch=number)


def _rows(group: str, pairs: Mapping[str, int]) -> pa.Table:
    return pa.table(
        {
            "timestamp": pa.array([0] * len(pairs), pa.int64()),
            "key": pa.array([key.encode() for key in pairs], pa.binary()),
            "value": pa.array([f"{group} {value}".encode() for value in pairs.values()]),
        }
    )


def _partition(key: str) -> int:
    return partition_of(key.encode(), PARTITIONS)


def lose_state() -> None:
    """Delete the objects of a group's stores."""
    checkpoint, objects = Checkpoint.load(home_of(place("app"))), LOG.open()
    last = checkpoint.commits("in", objects).last()
    assert last is not None
    objects.delete(ref.name for p in last.pointers().values() for ref in p.objects())


def command(*arguments: str) -> tuple[int, str]:
    """Run `kstreams`; return its exit code and its output."""
    found = CliRunner().invoke(PROGRAM, list(arguments), env={"COLUMNS": "200"})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, " ".join(found.output.split())


def contents(app: str, spec: StoreSpec[Any]) -> dict[str, int]:
    """Return the contents of a store, read from the durable log."""
    with View(place(app), spec, log=LOG) as view:
        return dict(view.items())


def published() -> list[tuple[bytes | None, bytes | None]]:
    """Return the records in the topic of results, sorted."""
    end = connection().admin().end_offsets("out")
    reader = connection().reader()
    return sorted(
        (record.key, record.value)
        for partition, count in end.items()
        for record in reader.read("out", partition, 0, count)
    )


def problems(app: str) -> dict[str, str]:
    """Return the problems found by `kstreams state verify`."""
    found = Verification(Checkpoint.load(home_of(place(app))), LOG.open())
    list(found.parts())
    return {**found.problems, **dict.fromkeys(found.strays, "stray")}
