"""Migration of windows to another length or gap; migrations that do not fit are rejected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kstreams import INT64, TEXT
from kstreams.aggregators import count
from kstreams.checkpoint.start.migration import Migration
from kstreams.durations import minutes, seconds
from kstreams.emit import each_update, on_close
from kstreams.errors import CheckpointMismatchError, ProcessingError
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import HoppingWindows, SessionWindows, SlidingWindows, TumblingWindows
from tests.kstreams.checkpoint.upgrade_topologies import Row, feed, results, started, windows_of

BEFORE: list[Row] = [(1_000, "a", 1), (2_000, "b", 1), (61_000, "a", 1), (62_000, "a", 1)]


def tumbling(span: timedelta) -> TumblingWindows:
    return TumblingWindows(span, grace=minutes(60))


def old(windows: Any = None, name: str = "s") -> Any:
    return window_store(name, key=TEXT, value=INT64, windows=windows)


def migrated(
    home: Path, first: Any, second: Any, migration: Migration, after: Sequence[Row]
) -> list[str]:
    """Return the results of records after a migration of windows."""
    query = started(home, windows_of(first, count(), each_update()), BEFORE)
    before = len(results(query))
    query.upgrade(windows_of(second, count(), each_update()), migrate={"s": migration})
    feed(query, after)
    return results(query)[before:]


@pytest.mark.parametrize("rows_at_once", [1, 10_000])
def test_migrated_windows_are_merged_into_longer_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    monkeypatch.setattr("kstreams.checkpoint.start.migration._ROWS_AT_ONCE", rows_at_once)
    one, seven = tumbling(minutes(1)), tumbling(minutes(7))
    migration = Migration(old(one), merge=count().merge)
    after: list[Row] = [(63_000, "a", 1), (64_000, "b", 1), (420_000, "a", 1)]
    assert migrated(tmp_path, one, seven, migration, after) == [
        "a@0/420000=4@63000",
        "b@0/420000=2@64000",
        "a@420000/840000=1@420000",
    ]


def test_migrated_windows_are_merged_into_each_hopping_window_that_contains_them(
    tmp_path: Path,
) -> None:
    one, hops = tumbling(minutes(1)), HoppingWindows(minutes(4), minutes(2), grace=minutes(60))
    migration = Migration(old(one), merge=count().merge)
    assert migrated(tmp_path, one, hops, migration, [(121_000, "a", 1)]) == [
        "a@0/240000=4@121000",
        "a@120000/360000=1@121000",
    ]


def test_migrated_values_are_converted_before_merge(tmp_path: Path) -> None:
    one, seven = tumbling(minutes(1)), tumbling(minutes(7))
    migration = Migration(old(one), lambda key, value: value * 10, merge=count().merge)
    assert migrated(tmp_path, one, seven, migration, [(63_000, "a", 1)]) == ["a@0/420000=31@63000"]


@pytest.mark.parametrize(
    ("first", "second", "migration", "expected_text"),
    [
        (
            tumbling(minutes(1)),
            tumbling(minutes(7)),
            Migration(old(tumbling(minutes(1)))),
            "two windows of key 'a' become one, but the migration has no merge=",
        ),
        (
            tumbling(minutes(7)),
            tumbling(minutes(1)),
            Migration(old(tumbling(minutes(7))), merge=count().merge),
            "the window [0, 420000) of key 'a' lies in several windows of TumblingWindows",
        ),
        (
            tumbling(seconds(90)),
            tumbling(minutes(2)),
            Migration(old(tumbling(seconds(90))), merge=count().merge),
            "",
        ),
        (
            HoppingWindows(minutes(2), minutes(1), grace=minutes(60)),
            tumbling(minutes(4)),
            Migration(
                old(HoppingWindows(minutes(2), minutes(1), grace=minutes(60))),
                merge=count().merge,
            ),
            "overlaps other windows of HoppingWindows",
        ),
        (
            tumbling(minutes(1)),
            tumbling(minutes(7)),
            Migration(old()),
            "give the old definition in migrate={...} its windows, window_store(..., windows=...)",
        ),
        (
            tumbling(minutes(1)),
            tumbling(minutes(7)),
            Migration(old(tumbling(minutes(2)))),
            "differs from the stored one: windows size was 0:01:00, now 0:02:00",
        ),
    ],
    ids=["no-merge", "cut", "cut-later", "overlap", "no-old-windows", "wrong-old-windows"],
)
def test_window_migration_that_cannot_be_merged_is_rejected_without_change(
    tmp_path: Path, first: Any, second: Any, migration: Migration, expected_text: str
) -> None:
    query = started(tmp_path, windows_of(first, count(), each_update()), BEFORE)
    changed = windows_of(second, count(), each_update())
    if not expected_text:
        query.upgrade(changed, migrate={"s": migration})
        feed(query, [(63_000, "a", 1)])
        assert results(query)[-1] == "a@0/120000=4@63000"
        return
    with pytest.raises(CheckpointMismatchError) as caught:
        query.upgrade(changed, migrate={"s": migration})
    assert expected_text in caught.value.message
    query.upgrade(windows_of(first, count(), each_update()))


def test_error_of_failing_merge_in_migration_names_store_and_key(tmp_path: Path) -> None:
    one, seven = tumbling(minutes(1)), tumbling(minutes(7))
    migration = Migration(old(one), merge=lambda earlier, later: 1 // 0)
    with pytest.raises(ProcessingError, match="ZeroDivisionError") as caught:
        migrated(tmp_path, one, seven, migration, [])
    assert caught.value.where.store == "s"


def test_migration_of_windows_passed_to_two_upgrades_runs_once(tmp_path: Path) -> None:
    one, seven = tumbling(minutes(1)), tumbling(minutes(7))
    migration = Migration(old(one), merge=count().merge)
    query = started(tmp_path, windows_of(one, count(), each_update()), BEFORE)
    changed = windows_of(seven, count(), each_update())
    for _ in range(2):
        query.upgrade(changed, migrate={"s": migration})
    feed(query, [(63_000, "a", 1)])
    assert results(query)[-1] == "a@0/420000=4@63000"


@pytest.mark.parametrize("emit", [each_update(), on_close()], ids=["updates", "finals"])
def test_migrated_sliding_windows_use_new_difference_for_stored_slices(
    tmp_path: Path, emit: Any
) -> None:
    short, long = (SlidingWindows(seconds(n), grace=seconds(5)) for n in (10, 20))
    before: list[Row] = [(1_000, "a", 1), (9_000, "a", 1), (12_000, "b", 1)]
    after: list[Row] = [(21_000, "a", 1), (100_000, "b", 1)]
    query = started(tmp_path / "changed", windows_of(short, count(), emit), before)
    count_before = len(results(query))
    migration = Migration(sliding_store("s", key=TEXT, value=INT64))
    query.upgrade(windows_of(long, count(), emit), migrate={"s": migration})
    feed(query, after)
    found = results(query)[count_before:]
    assert "a@1000/21000=3@21000" in found
    assert len(found) == len(set(found))


SESSIONS: list[Row] = [(1_000, "a", 1), (20_000, "a", 1), (20_000, "b", 1), (90_000, "a", 1)]


def sessions(seconds_of_gap: int) -> Any:
    windows = SessionWindows(seconds(seconds_of_gap), grace=minutes(60))
    return windows_of(windows, count(), each_update())


def test_migration_to_longer_gap_merges_sessions(tmp_path: Path) -> None:
    query = started(tmp_path, sessions(5), SESSIONS)
    store: Any = session_store("s", key=TEXT, value=INT64)
    with pytest.raises(CheckpointMismatchError, match="has no merge"):
        query.upgrade(sessions(30), migrate={"s": Migration(store)})
    query.upgrade(sessions(30), migrate={"s": Migration(store, merge=count().merge)})
    feed(query, [(25_000, "a", 1), (21_000, "b", 1)])
    assert results(query)[-4:] == [
        "a@1000/20000=None@20000",
        "a@1000/25000=3@25000",
        "b@20000/20000=None@20000",
        "b@20000/21000=2@21000",
    ]


def test_migration_to_shorter_gap_keeps_bounds_of_sessions(tmp_path: Path) -> None:
    query = started(tmp_path, sessions(30), SESSIONS)
    query.upgrade(sessions(5), migrate={"s": Migration(session_store("s", key=TEXT, value=INT64))})
    feed(query, [(24_000, "a", 1), (84_000, "a", 1)])
    assert results(query)[-3:] == [
        "a@1000/20000=None@20000",
        "a@1000/24000=3@24000",
        "a@84000/84000=1@84000",
    ]
