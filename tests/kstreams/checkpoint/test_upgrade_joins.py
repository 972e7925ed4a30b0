"""Added, removed and changed tables and joins in an upgrade: reported lines and rejections."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, aggregate, timestamped_store
from kstreams.aggregators import count
from kstreams.durations import milliseconds, seconds
from kstreams.errors import CheckpointMismatchError
from kstreams.ids import TaskId
from kstreams.joins import inner, left, outer, within
from kstreams.record import Record
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.durable import DurableLog
from kstreams.state.stores.join.kind import join_store
from kstreams.state.stores.queue.kind import queue_store
from kstreams.state.stores.queue.rows import QueueRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from tests.kstreams.checkpoint.start.test_upgrade import A, AppCheckpoint, kv, topology

USERS = Topic("users", TEXT, TEXT)
STORE = timestamped_store("users", key=TEXT, value=TEXT)
COUNTS = timestamped_store("s", key=TEXT, value=INT64)
HELD = queue_store("held", key=TEXT, value=INT64)


def counting(*, table: bool = False, how: Any = None, start: Any = "earliest") -> Topology:
    """Count records, optionally joined with a table."""
    builder = TopologyBuilder("shape")
    source = builder.add_source("a", A)
    builder.aggregate_table("counts", aggregate(count(), store=COUNTS), source)
    if table:
        users = builder.add_table("users", USERS, store=STORE, start=start)
        builder.join_table("named", source, users, (how or inner)(lambda _, name: name))
    return builder.build()


def tables(how: Any) -> Topology:
    builder = TopologyBuilder("shape")
    counted = builder.aggregate_table(
        "counts", aggregate(count(), store=COUNTS), builder.add_source("a", A)
    )
    users = builder.add_table("users", USERS, store=STORE)
    builder.join_tables("both", counted, users, how(lambda n, name: (n, name)))
    return builder.build()


def planned(
    app: AppCheckpoint, new: Topology, caplog: pytest.LogCaptureFixture, **options: Any
) -> list[str]:
    """Upgrade, and return the logged plan."""
    caplog.clear()
    with caplog.at_level(logging.INFO, "kstreams.checkpoint.start.upgrade"):
        app.upgrade(new, **options)
    return [record.getMessage().removeprefix("upgrade of app: ") for record in caplog.records]


def begun(path: Path, first: Topology, *specs: StoreSpec[Any], fill: Any = None) -> AppCheckpoint:
    app = AppCheckpoint(path, first)
    app.commit(3, fill or (lambda overlay: None), *specs)
    return app


@pytest.mark.parametrize(
    ("records", "start", "expected_line"),
    [
        (1_200_000, "earliest", "table 'users' is read first: 1,200,000 records of topic 'users'"),
        (None, "earliest", "table 'users' is read first, from the start of topic 'users'"),
        (5, "latest", None),
    ],
)
def test_upgrade_reports_number_of_records_of_added_table_that_are_read_first(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    records: int | None,
    start: str,
    expected_line: str | None,
) -> None:
    app = begun(tmp_path, counting(), COUNTS)
    app.records = None if records is None else lambda _: records
    lines = planned(app, counting(table=True, start=start), caplog)
    assert "store 'users': new: begin empty" in lines
    assert "store 's': same: keep" in lines
    assert "join 'named' of group 'a' is new" in lines
    assert [line for line in lines if "read first" in line] == (
        [expected_line] if expected_line else []
    )
    assert {place.topic for place in app.last().positions} == {"a"}
    assert app.checkpoint.epoch_numbers == {"a": 1}


def test_upgrade_with_new_query_of_table_reports_no_records_to_read_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = begun(tmp_path, topology(kv("t"), topics=[Topic("other", TEXT, INT64)]))
    lines = planned(app, counting(table=True), caplog, reset={"t"})
    assert not [line for line in lines if "read first" in line]


@pytest.mark.parametrize(("old", "new"), [("inner", "left"), ("left", "outer"), ("outer", "inner")])
def test_changed_kind_of_table_join_applies_to_later_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, old: str, new: str
) -> None:
    kinds: dict[str, Any] = {"inner": inner, "left": left, "outer": outer}
    app = begun(tmp_path, tables(kinds[old]), COUNTS)
    lines = planned(app, tables(kinds[new]), caplog)
    assert (
        f"join 'both' of group 'a': its kind was {old}, now {new}: this applies to records that "
        "arrive after the upgrade"
    ) in lines
    assert (app.checkpoint.epoch_numbers, app.last().batch) == ({}, 3)
    assert planned(app, tables(kinds[new]), caplog) == []


ITEMS = timestamped_store("items", key=TEXT, value=TEXT)
FULL = timestamped_store("full", key=TEXT, value=TEXT)


def foreign(how: Any) -> Topology:
    builder = TopologyBuilder("shape")
    items = builder.add_table("items", Topic("a", TEXT, TEXT), store=ITEMS)
    users = builder.add_table("users", USERS, store=STORE)
    joiner = how(lambda item, name: f"{item}{name}")
    builder.join_foreign("full", items, users, joiner, by=lambda _, item: item, store=FULL)
    return builder.build()


def everywhere(how: Any) -> Topology:
    builder = TopologyBuilder("shape")
    users = builder.add_global_table("users", USERS, store=STORE)
    source = builder.add_source("a", A)
    builder.join_global("full", source, users, how(lambda _, name: name), by=lambda key, _: key)
    return builder.build()


@pytest.mark.parametrize(
    ("make", "group"), [(foreign, "full-subscription-response"), (everywhere, "a")]
)
@pytest.mark.parametrize(("old", "new"), [("inner", "left"), ("left", "inner")])
def test_changed_kind_of_foreign_key_join_is_reported(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    make: Any,
    group: str,
    old: str,
    new: str,
) -> None:
    kinds: dict[str, Any] = {"inner": inner, "left": left}
    before, now = make(kinds[old]), make(kinds[new])
    assert before.shape()[group]["joins"] == {"full": {"how": old}}
    app = begun(tmp_path, before)
    lines = planned(app, now, caplog)
    expected_line = (
        f"join 'full' of group {group!r}: its kind was {old}, now {new}: this applies to records "
        "that arrive after the upgrade"
    )
    assert expected_line in lines


B = Topic("b", TEXT, INT64)
RATES = versioned_key_value_store("rates", key=TEXT, value=INT64, retention=seconds(60))
PAIRS = join_store("pairs", key=TEXT, left=INT64, right=INT64)


def pairs(before: int, after: int, grace: int, *, joined: bool = True) -> Topology:
    builder = TopologyBuilder("shape")
    one, other = builder.add_source("a", A), builder.add_source("b", B)
    spans = within(milliseconds(before), milliseconds(after), grace=milliseconds(grace))
    if joined:
        builder.join_streams(
            "pairs", one, other, inner(lambda x, y: x + y), within=spans, store=PAIRS
        )
    else:
        builder.merge("both", one, other)
    return builder.build()


@pytest.mark.parametrize(
    ("spans", "expected_line"),
    [
        ((0, 2_000, 5), "records that have expired already are not joined"),
        ((0, 1_000, 50), "records that have expired already are not joined"),
        ((1, 500, 5), "records that have expired already are not joined"),
        ((0, 500, 5), "records expire sooner"),
    ],
)
def test_changed_bounds_of_stream_join_are_accepted(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    spans: tuple[int, int, int],
    expected_line: str,
) -> None:
    app = begun(tmp_path, pairs(0, 1_000, 5), PAIRS)
    lines = planned(app, pairs(*spans), caplog)
    now = f"before {spans[0]:,} ms, after {spans[1]:,} ms, grace {spans[2]:,} ms"
    assert (
        "join 'pairs' of group 'a': it had before 0 ms, after 1,000 ms, grace 5 ms, and now has "
        f"{now}: {expected_line}"
    ) in lines
    assert "store 'pairs': same: keep" in lines
    assert (app.checkpoint.epoch_numbers, app.last().batch) == ({}, 3)


def rated(grace: int) -> Topology:
    builder = TopologyBuilder("shape")
    source = builder.add_source("a", A)
    rates = builder.add_table("rates", Topic("rates", TEXT, INT64), store=RATES)
    span = milliseconds(grace)
    builder.join_as_of("as-of", source, rates, inner(lambda x, y: x * y), grace=span, waiting=HELD)
    return builder.build()


def test_changed_grace_of_join_as_of_is_accepted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = begun(tmp_path, rated(1_000), RATES, HELD)
    lines = planned(app, rated(50), caplog)
    assert (
        "join 'as-of' of group 'a': it had grace 1,000 ms, and now has grace 50 ms: this applies "
        "to records that arrive after the upgrade"
    ) in lines


def test_added_stream_join_finds_partners_among_later_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = begun(tmp_path, pairs(0, 1, 0, joined=False))
    lines = planned(app, pairs(0, 1, 0), caplog)
    assert (
        "join 'pairs' of group 'a' is new: it joins only records that arrive after the upgrade"
    ) in lines
    assert "store 'pairs': new: begin empty" in lines


def test_removed_join_is_reported_and_its_table_is_dropped_only_with_reset(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = begun(tmp_path, counting(table=True), COUNTS, STORE)
    with pytest.raises(CheckpointMismatchError, match="store 'users' is no longer"):
        app.upgrade(counting())
    lines = planned(app, counting(), caplog, reset={"users"})
    assert "join 'named' of group 'a' is no longer in the topology" in lines
    assert "source topic 'users' of group 'a' is no longer in the topology" in lines


def waits(overlay: Any) -> None:
    rows = QueueRows.of(HELD.open(overlay))
    for time in (5, 6, 7):
        rows.put(Record("a", time, time))


def waited(overlay: Any) -> None:
    waits(overlay)
    QueueRows.of(HELD.open(overlay)).release(7)


def test_upgrade_drops_waiting_records_of_join_only_with_reset(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = begun(tmp_path, topology(kv(), HELD), kv(), HELD, fill=waits)
    with pytest.raises(CheckpointMismatchError, match="first run the previous topology") as caught:
        app.upgrade(topology(kv()))
    assert "it holds 6 records for later batches" in caught.value.message
    assert "App.run(until='end', close_windows=True)" in caught.value.message
    lines = planned(app, topology(kv()), caplog, reset={"held"})
    assert "store 'held': removed (it holds 6 records for later batches): drop" in lines


def test_upgrade_removes_empty_queue_of_join_without_reset(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = begun(tmp_path, topology(kv(), HELD), kv(), HELD, fill=waited)
    lines = planned(app, topology(kv()), caplog)
    assert "store 'held': removed (it holds 0 records for later batches): drop" in lines


def test_recorded_shape_lists_joins_only_if_topology_has_joins() -> None:
    assert "joins" not in counting().shape()["a"]
    assert counting(table=True).shape()["a"]["joins"] == {"named": {"how": "inner"}}


def global_named() -> Topology:
    builder = TopologyBuilder("shape")
    source = builder.add_source("a", A)
    builder.aggregate_table("counts", aggregate(count(), store=COUNTS), source)
    users = builder.add_global_table("users", USERS, store=STORE)
    builder.join_global("named", source, users, inner(lambda _, name: name), by=lambda key, _: key)
    return builder.build()


def test_upgrade_makes_table_global_with_its_rows_and_ordinary_only_with_reset(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fill(overlay: Any) -> None:
        COUNTS.open(overlay).put("a", 1, 5)
        STORE.open(overlay).put("ann", "Ann", 5)

    app = begun(tmp_path, counting(table=True), COUNTS, STORE, fill=fill)
    lines = planned(app, global_named(), caplog)
    assert "store 'users': same: keep" in lines
    task = TaskId("users.source", 1)
    pointer = app.last("users.source").pointers()[task]
    store = MemoryStore(sorted({*pointer.stores, "users"}))
    key = app.checkpoint.task_key("users.source", task)
    DurableLog(app.objects, key).restore(pointer, store)
    assert dict(STORE.open(Overlay(store)).range()) == {"ann": ("Ann", 5)}
    assert dict(app.live(COUNTS).range()) == {"a": (1, 5)}
    with pytest.raises(CheckpointMismatchError, match="would have the stores") as caught:
        app.upgrade(counting(table=True))
    assert "reset the stores of all these groups except one" in caught.value.message
    app.upgrade(counting(table=True), reset={"users"})
    assert dict(app.live(COUNTS).range()) == {"a": (1, 5)}
