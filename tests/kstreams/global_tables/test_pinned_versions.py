"""The plan of a batch pins the version of a global table until the batch is committed."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.s3 import Bucket
from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.errors import CheckpointMismatchError, LimitError, VersionGoneError
from kstreams.global_tables import versions as versions_module
from kstreams.joins import left
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.stores import timestamped_store
from kstreams.topology import AppTable
from kstreams_admin.reset import reset
from kstreams_rocksdb import RocksDB
from tests.support.apps.stepped_app import ByHand

WORDS = Topic("words", TEXT, TEXT)
TEXTS, OUT = Topic("texts", INT64, TEXT), Topic("out", INT64, TEXT)
TABLE = timestamped_store("table", key=TEXT, value=TEXT)
MORE = timestamped_store("more", key=TEXT, value=TEXT)


def _both(text: str, word: str | None) -> str:
    return f"{text}={word}"


def _text(_: int, text: str) -> str:
    return text


def reading(other: Path | AppTable[str, str] | None = None, *, reads: bool = True) -> Topology:
    """Return a topology that joins texts with a global table into out."""
    builder = TopologyBuilder("reading")
    if other is None:
        words = builder.add_global_table("words", WORDS, store=TABLE)
    else:
        table = other if isinstance(other, AppTable) else AppTable(other, TABLE)
        words = builder.add_global_table("words", table)
    texts = builder.add_source("texts", TEXTS)
    found = texts
    if reads:
        found = builder.join_global("join", texts, words, left(_both), by=_text)
    builder.add_sink("out", OUT, found)
    return builder.build()


def writing() -> Topology:
    """Return the topology of the app that writes the shared table."""
    builder = TopologyBuilder("writing")
    builder.add_table("words", WORDS, store=TABLE)
    return builder.build()


@pytest.fixture(params=[RocksDB, Memory], ids=["rocksdb", "memory"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> StateBackend:
    found: StateBackend = request.param(directory=str(tmp_path / "local"))
    return found


def put(app: ByHand, value: str, query: str = "words.source") -> None:
    """Give all keys a value and commit it."""
    app.emit(WORDS, *((key, value) for key in "abcd"))
    assert app.queries[query].step()


def planned(app: ByHand) -> Plan:
    """Plan a batch of the query `texts`."""
    app.emit(TEXTS, (1, "a"), (2, "b"))
    plan = app.queries["texts"].plan()
    assert plan is not None
    return plan


def swept(app: ByHand, *, later: timedelta = timedelta(0)) -> None:
    """Clean up old versions of the table."""
    for _ in range(3):
        app.clock.advance(later)
        app.queries["words.source"].driver.sweep()


def test_batch_retried_after_kill_reads_pinned_version(tmp_path: Path, state: StateBackend) -> None:
    app = ByHand(tmp_path, reading(), state=state)
    put(app, "old")
    plan = planned(app)
    for number in range(5):
        put(app, f"new-{number}")
        swept(app)
    for _ in range(2):  # killed once, and again after the table caught up
        app = ByHand(tmp_path, reading(), state=state)
        for number in range(5):
            put(app, f"newer-{number}")
            swept(app)
    again = app.queries["texts"].plan()
    assert again is not None
    assert again.to_json() == plan.to_json()
    app.queries["texts"].run(plan)
    assert app.values(OUT) == ["a=old", "b=old"]
    planned(app)
    app.queries["texts"].step()
    assert app.values(OUT)[:2] == ["a=newer-4", "a=old"]


def test_table_version_not_pinned_by_a_plan_is_removed(tmp_path: Path, state: StateBackend) -> None:
    app = ByHand(tmp_path, reading(), state=state)
    put(app, "old")
    plan = planned(app)
    pin = plan.globals["table"]
    assert pin.commit is not None
    commits = app.queries["words.source"].driver._opened.commits
    for number in range(5):
        put(app, f"new-{number}")
        swept(app)
    assert pin.commit.batch in commits.numbers()
    assert len(commits.numbers()) == 3
    app.queries["texts"].run(plan)
    app.worker.background.drain()
    put(app, "last")
    put(app, "very last")
    app.worker.background.drain()
    swept(app, later=timedelta(hours=2))
    assert commits.numbers() == [6, 7]
    named = {r.name for c in commits.all() for p in c.pointers().values() for r in p.objects()}
    prefix = app.queries["words.source"].settings.state_name
    objects = app.queries["words.source"].driver._opened.objects
    kept = {n for n in objects.list(f"{prefix}/") if "/garbage/" not in n}
    assert kept == named


def test_smaller_plan_after_refusal_keeps_pinned_version(
    tmp_path: Path, state: StateBackend
) -> None:
    app = ByHand(tmp_path, reading(), state=state, max_bytes_per_batch=40)
    put(app, "old")
    query = app.queries["texts"]
    app.emit(TEXTS, *((number, "a" * 20) for number in range(6)))
    plan = query.plan()
    assert plan is not None
    put(app, "new")
    ran = query.run(plan)
    assert ran.globals == plan.globals


def test_missing_version_of_table_of_another_app_is_replaced_only_with_repin(
    tmp_path: Path, state: StateBackend
) -> None:
    writer = ByHand(tmp_path, writing(), state=state)
    put(writer, "old")
    topology = reading(tmp_path / "writing")
    app = ByHand(tmp_path, topology, state=state)
    plan = planned(app)
    for number in range(5):
        put(writer, f"new-{number}")
        swept(writer)
    app = ByHand(tmp_path, topology, state=state)
    with pytest.raises(VersionGoneError, match=r"'table'.* batch 0, is gone") as caught:
        app.queries["texts"].run(plan)
    assert "--repin" in caught.value.hint
    app = ByHand(tmp_path, topology, state=state, repin=True)
    ran = app.queries["texts"].run(plan)
    assert app.values(OUT) == ["a=new-4", "b=new-4"]
    assert ran.revision == 1
    assert set(ran.cuts) == set(plan.tasks)
    assert ran.tasks == plan.tasks
    assert app.queries["texts"].driver.plans.at(0).to_json() == ran.to_json()


def test_pinned_version_of_reset_app_is_missing(tmp_path: Path, state: StateBackend) -> None:
    writer = ByHand(tmp_path, writing(), state=state)
    put(writer, "old")
    app = ByHand(tmp_path, reading(tmp_path / "writing"), state=state)
    plan = planned(app)
    reset("writing", checkpoint=tmp_path / "writing", state=state)
    writer = ByHand(tmp_path, writing(), state=state)
    assert writer.queries["words.source"].step()
    app = ByHand(tmp_path, reading(tmp_path / "writing"), state=state)
    with pytest.raises(VersionGoneError, match="the table was reset or upgraded"):
        app.queries["texts"].run(plan)
    app = ByHand(tmp_path, reading(tmp_path / "writing"), state=state, repin=True)
    app.queries["texts"].run(plan)
    assert app.values(OUT) == ["a=old", "b=old"]


def test_plan_made_before_table_was_added_reads_newest_version(
    tmp_path: Path, state: StateBackend
) -> None:
    app = ByHand(tmp_path, reading(reads=False), state=state)
    put(app, "old")
    plan = planned(app)
    assert plan.globals == {}
    app = ByHand(tmp_path, reading(), state=state)
    assert app.queries["texts"].run(plan).revision == 1
    assert app.values(OUT) == ["a=old", "b=old"]


def test_plan_that_pins_removed_table_can_be_run(tmp_path: Path, state: StateBackend) -> None:
    app = ByHand(tmp_path, reading(), state=state)
    put(app, "old")
    plan = planned(app)
    app = ByHand(tmp_path, reading(reads=False), state=state)
    app.queries["texts"].run(plan)
    assert app.values(OUT) == ["a", "b"]


def test_memory_backend_copies_only_small_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions_module, "_IN_MEMORY_BYTES", 100)
    for state in (Memory(str(tmp_path / "local")), RocksDB(str(tmp_path / "local"))):
        home = tmp_path / state.name
        app = ByHand(home, reading(), state=state)
        put(app, "old")
        plan = planned(app)
        if isinstance(state, RocksDB):
            app.queries["texts"].run(plan)
            continue
        with pytest.raises(LimitError, match="limited to 0 MiB") as caught:
            app.queries["texts"].run(plan)
        assert "RocksDB" in caught.value.hint


def test_reset_removes_local_copies_of_tables(tmp_path: Path) -> None:
    state = RocksDB(str(tmp_path / "local"))
    app = ByHand(tmp_path, reading(), state=state)
    put(app, "old")
    app.queries["texts"].run(planned(app))
    assert list((tmp_path / "local").rglob("*.sst"))
    reset("reading", checkpoint=tmp_path / "reading", state=state)
    assert not list((tmp_path / "local").rglob("*"))


def test_table_of_another_store_kind_is_rejected(tmp_path: Path) -> None:
    ByHand(tmp_path, writing())
    builder: Any = TopologyBuilder("wrong")
    wrong = timestamped_store("table", key=TEXT, value=INT64)
    builder.add_global_table("words", AppTable(tmp_path / "writing", wrong))
    builder.add_sink("out", OUT, builder.add_source("texts", TEXTS))
    with pytest.raises(CheckpointMismatchError, match="read the store with the definition"):
        ByHand(tmp_path, builder.build())


def test_fork_reads_table_version_of_savepoint(tmp_path: Path, state: StateBackend) -> None:
    app = ByHand(tmp_path, reading(), state=state)
    put(app, "old")
    app.queries["texts"].run(planned(app))
    opened = app.queries["texts"].driver._opened
    Savepoints(opened.checkpoint, opened.objects).create("before", app.clock)
    put(app, "new")
    shutil.copytree(tmp_path / "topics", tmp_path / "forked" / "topics")
    fork = ForkSource(tmp_path / "reading", "before")
    forked = ByHand(tmp_path / "forked", reading(), state=state, fork=fork)
    forked.queries["texts"].run(planned(forked))
    assert forked.values(OUT) == ["a=old", "a=old", "b=old", "b=old"]
    assert forked.queries["words.source"].step()  # the records after the savepoint
    forked.queries["texts"].run(planned(forked))
    assert forked.values(OUT)[:2] == ["a=new", "a=old"]


@pytest.mark.long
@pytest.mark.parametrize("backend", [RocksDB, Memory])
def test_global_tables_are_copied_from_s3(
    tmp_path: Path, bucket: Bucket, backend: Callable[..., StateBackend]
) -> None:
    log = bucket.settings(f"tables-{uuid.uuid4().hex[:8]}")

    def state(name: str) -> StateBackend:
        return backend(directory=str(tmp_path / name), log=log)

    writer = ByHand(tmp_path, writing(), state=state("one"))
    put(writer, "old")
    topology = reading(AppTable(tmp_path / "writing", TABLE, log=log))
    app = ByHand(tmp_path, topology, state=state("two"))
    for value in ("old", "new"):
        put(writer, value)
        app.queries["texts"].run(planned(app))
    assert app.values(OUT) == ["a=new", "a=old", "b=new", "b=old"]
