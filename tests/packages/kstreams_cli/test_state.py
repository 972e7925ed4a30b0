"""`kstreams state`: an app's stores on the command line, without the app."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kstreams import DOUBLE, INT64, TEXT, Record, Serde, View, key_value_store
from kstreams.aggregators import collect
from kstreams.durations import milliseconds
from kstreams.serde.composite import TupleSerde
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.buffered import BufferedState
from kstreams.state.stores.emit_buffer.kind import emit_buffer_store
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.state.stores.rate_limit.kind import rate_limit_store
from kstreams.state.stores.rate_limit.rows import RateLimitRows
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.sliding.rows import SlidingRows
from kstreams.state.stores.window.kind import window_store
from kstreams.stores import (
    list_store,
    session_store,
    timestamped_store,
    versioned_key_value_store,
)
from kstreams.windows import TumblingWindows, Windowed, windowed
from kstreams_admin.flat_rows import columns_of, key_serde, rows_of
from tests.support.apps.committing_app import Committing
from tests.support.cli.command_line import kstreams, say


class Odd(Serde[int]):
    """A serde that exists only in the app's code."""

    name = "odd"
    type_token = int

    def serialize(self, value: int) -> bytes:
        return f"odd {value}".encode()

    def deserialize(self, data: bytes) -> int:
        return int(data.removeprefix(b"odd "))


COUNTS = key_value_store("counts", key=TEXT, value=INT64)
WHERE = ("--checkpoint", "c")


def app() -> Committing:
    made = Committing(Path("c").absolute(), COUNTS)
    made.put((word, len(word)) for word in ("apple", "fig", "plum"))
    made.put([("fig", 30)])
    return made


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.split()]


def test_state_list_shows_stores_and_savepoints() -> None:
    app()
    rows = words(say("state", "list", "viewed", *WHERE))
    assert rows[1][:7] == ["counts", "key-value", "text", "int64", "in", "3", "1"]
    say("state", "savepoint", "viewed", "monday", *WHERE)
    rows = words(say("state", "list", "viewed", *WHERE))
    assert rows[-1][0] == "monday"
    assert rows[-1][-2:] == ["in", "1"]


def test_state_get_shows_present_and_earlier_value() -> None:
    app()
    assert say("state", "get", "viewed", "counts", "fig", *WHERE) == "30\n"
    assert say("state", "get", "viewed", "counts", "fig", *WHERE, "--as-of", "0") == "3\n"
    missing = kstreams("state", "get", "viewed", "counts", "kiwi", *WHERE)
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "Store counts has no key kiwi" in missing.stderr


def test_state_get_shows_windows_of_key() -> None:
    made = Committing(Path("c").absolute(), window_store("w", key=TEXT, value=INT64))
    made.commit(lambda store, partition: [store.put(Windowed("a", t, t + 10), 7) for t in (0, 10)])
    assert say("state", "get", "viewed", "w", "a", *WHERE) == f"{at(0)}\t7\n{at(10)}\t7\n"
    rows = words(say("state", "scan", "viewed", "w", *WHERE))
    assert (rows[0], rows[1]) == (["key", "start", "value"], ["a", at(0), "7"])


def test_state_get_selects_windows_sessions_and_versions_by_time() -> None:
    made = Committing(Path("w").absolute(), window_store("w", key=TEXT, value=INT64))
    made.commit(
        lambda store, partition: [store.put(Windowed("a", t, t + 10), 7) for t in (0, 10, 20)]
    )
    times = ("--from", "@5", "--to", "@20")
    assert say("state", "get", "viewed", "w", "a", "--checkpoint", "w", *times) == f"{at(10)}\t7\n"

    made = Committing(Path("s").absolute(), session_store("s", key=TEXT, value=INT64))
    made.commit(
        lambda store, partition: [store.put(Windowed("a", t, t + 4), 7) for t in (0, 10, 20)]
    )
    text = say("state", "get", "viewed", "s", "a", "--checkpoint", "s", *times)
    assert text == f"{at(10)}\t{at(14)}\t7\n"

    spec = versioned_key_value_store("v", key=TEXT, value=INT64, retention=timedelta(seconds=1))
    made = Committing(Path("v").absolute(), spec)
    made.commit(lambda store, partition: [store.put("a", t, t) for t in (1, 10, 20)])
    text = say("state", "get", "viewed", "v", "a", "--checkpoint", "v", *times)
    assert text == f"{at(1)}\t{at(10)}\t1\n{at(10)}\t{at(20)}\t10\n"
    assert say("state", "get", "viewed", "v", "a", "--checkpoint", "v", "--from", "@20") == (
        f"{at(20)}\tnull\t20\n"
    )

    app()
    wrong = kstreams("state", "get", "viewed", "counts", "fig", *WHERE, "--from", "@1")
    assert wrong.exit_code == 2
    assert "a key-value store has no times" in wrong.stderr


def test_versions_and_lists_are_shown_and_exported() -> None:
    spec = versioned_key_value_store("v", key=TEXT, value=INT64, retention=timedelta(seconds=1))
    made = Committing(Path("v").absolute(), spec)
    where = ("--checkpoint", "v")
    made.commit(lambda store, partition: partition == 0 and [store.put("a", t, t) for t in (1, 9)])
    rows = words(say("state", "scan", "viewed", "v", *where))
    assert rows == [["key", "value", "timestamp"], ["a", "9", at(9)]]
    kstreams("state", "export", "viewed", "v", "v.parquet", *where)
    assert pq.read_table("v.parquet").to_pylist() == [{"key": "a", "value": 9, "timestamp_ms": 9}]

    made = Committing(Path("l").absolute(), list_store("l", key=TEXT, value=INT64), key=DOUBLE)
    where = ("--checkpoint", "l")

    def fill(store: Any, partition: int) -> None:
        store.extend(f"k{partition}", range(partition))

    made.commit(fill)
    assert say("state", "get", "viewed", "l", "k2", *where) == "0\n1\n"
    assert kstreams("state", "get", "viewed", "l", "k0", *where).exit_code == 1
    rows = words(say("state", "scan", "viewed", "l", *where, "--reverse"))
    assert rows[1:] == [["k2", "1"], ["k2", "0"], ["k1", "0"]]
    kstreams("state", "export", "viewed", "l", "l.parquet", *where)
    assert pq.read_table("l.parquet").to_pydict() == {
        "key": ["k1", "k2", "k2"],
        "value": [0, 0, 1],
    }


def put_slices(store: Any, key: str, time: int) -> None:
    SlidingRows.of(store).put(key, ((time, 7), (time + 5, 8)), done_ms=0, timer_ms=time)


def put_record(store: Any, key: str, time: int) -> None:
    BufferRows.of(store).put(Record(key, 7 if time < 20 else None, time - 1), time)


def put_pending(store: Any, key: str, time: int) -> None:
    value = 7 if time < 20 else None
    state = BufferedState(value, time - 1, emitted=True)
    EmitBufferRows.of(store).writer()((time, 0, 10, key), state)


def put_paced(store: Any, key: str, time: int) -> None:
    value = 7 if time < 20 else None
    state = BufferedState(value, time - 1, emitted=True)
    RateLimitRows.of(store).hold_back(key, time, ((0, 10, state),))


def at(ms: int) -> str:
    """Return a time as the commands print it."""
    return f"1970-01-01T00:00:00.{ms:03}Z"


WAITING: dict[str, list[Any]] = {
    "key": ["b", "a"],
    "start_ms": [0, 0],
    "end_ms": [10, 10],
    "due_ms": [10, 20],
    "value": [7, None],
    "timestamp_ms": [9, 19],
}
BY_TIME: dict[str, tuple[Any, Any, dict[str, list[Any]], str]] = {
    "sliding": (
        sliding_store,
        put_slices,
        {"key": ["a", "a", "b", "b"], "time_ms": [20, 25, 10, 15], "value": [7, 8, 7, 8]},
        f"{at(20)}\t7\n{at(25)}\t8\n",
    ),
    "buffer": (
        buffer_store,
        put_record,
        {"key": ["a", "b"], "value": [None, 7], "timestamp_ms": [19, 9], "time_ms": [20, 10]},
        "null\n",
    ),
    "pending": (
        emit_buffer_store,
        put_pending,
        WAITING,
        f"{at(0)}\t{at(10)}\t{at(20)}\tnull\t{at(19)}\n",
    ),
    "paced": (
        rate_limit_store,
        put_paced,
        {name: column[::-1] for name, column in WAITING.items()},
        f"{at(0)}\t{at(10)}\t{at(20)}\tnull\t{at(19)}\n",
    ),
}


@pytest.mark.parametrize("kind", BY_TIME)
def test_slices_and_buffered_records_are_shown_and_exported(kind: str) -> None:
    make, put, columns, of_a = BY_TIME[kind]
    # If records are routed by another key, the store's key is read in all partitions.
    made = Committing(Path("c").absolute(), make("t", key=TEXT, value=INT64), key=DOUBLE)

    def fill(store: Any, partition: int) -> None:
        if partition < 2:
            put(store, "ba"[partition], 10 + 10 * partition)

    made.commit(fill)
    rows = words(say("state", "scan", "viewed", "t", *WHERE))
    assert rows[0] == [name.removesuffix("_ms") for name in columns]
    shown = [
        ["null" if part is None else at(part) if name.endswith("_ms") else str(part)
         for name, part in zip(columns, row, strict=True)]
        for row in zip(*columns.values(), strict=True)
    ]  # fmt: skip
    assert rows[1:] == shown
    assert words(say("state", "scan", "viewed", "t", *WHERE, "--reverse"))[1:] == shown[::-1]
    some = words(say("state", "scan", "viewed", "t", *WHERE, "--start", "aa", "--end", "c"))
    assert some[1:] == [row for row in shown if row[0] == "b"]
    assert say("state", "get", "viewed", "t", "a", *WHERE) == of_a
    assert kstreams("state", "get", "viewed", "t", "c", *WHERE).exit_code == 1
    kstreams("state", "export", "viewed", "t", "t.parquet", *WHERE)
    table = pq.read_table("t.parquet")
    assert table.to_pydict() == columns
    assert {str(column.type) for column in table.schema if column.name != "key"} == {"int64"}


def test_rows_of_store_with_windowed_keys_have_key_start_and_end_columns() -> None:
    windows = TumblingWindows(milliseconds(10))
    key = windowed(TEXT, windows)
    made = Committing(Path("c").absolute(), buffer_store("t", key=key, value=INT64), key=TEXT)
    record = Record(Windowed("a", 10, 20), 7, 11)
    made.commit(lambda store, partition: partition == 1 and BufferRows.of(store).put(record, 20))
    with View(made.path, made.spec) as view:
        assert columns_of(view) == ("key", "start_ms", "end_ms", "value", "timestamp_ms", "time_ms")
        assert list(rows_of(view)) == [("a", 10, 20, 7, 11, 20)]
        assert list(rows_of(view, "a", "b")) == [("a", 10, 20, 7, 11, 20)]
        assert list(rows_of(view, "b")) == []
        assert key_serde(view) == TEXT


def test_state_scan_shows_rows_in_order_and_reports_that_more_exist() -> None:
    app()
    result = kstreams("state", "scan", "viewed", "counts", *WHERE, "--limit", "2")
    assert words(result.stdout) == [["key", "value"], ["apple", "5"], ["fig", "30"]]
    assert "2 rows at version 1; the store has more rows, --limit 0 shows all" in result.stderr
    rows = words(say("state", "scan", "viewed", "counts", *WHERE, "--start", "b", "--reverse"))
    assert rows[1:] == [["plum", "4"], ["fig", "30"]]


class _Own(Serde[float]):
    """A serde that the command line does not know."""

    name = "own"

    def serialize(self, value: float) -> bytes:
        return DOUBLE.serialize(value)

    def deserialize(self, data: bytes) -> float:
        return DOUBLE.deserialize(data)


def test_values_of_unknown_serdes_are_shown_as_bytes_or_by_a_given_serde() -> None:
    made = Committing(Path("c").absolute(), key_value_store("s", key=TEXT, value=_Own()))
    made.commit(lambda store, partition: store.put("a", 1.5))
    assert "x" in say("state", "get", "viewed", "s", "a", *WHERE)
    told = say("state", "get", "viewed", "s", "a", *WHERE, "--value", "double")
    assert told == "1.5\n"


def test_state_export_writes_typed_parquet() -> None:
    app()
    result = kstreams("state", "export", "viewed", "counts", "out.parquet", *WHERE)
    assert (result.exit_code, result.stderr) == (0, "Wrote out.parquet: 3 rows at version 1.\n")
    table = pq.read_table("out.parquet")
    assert [str(column.type) for column in table.schema] == ["string", "int64"]
    assert table.to_pydict() == {"key": ["apple", "fig", "plum"], "value": [5, 30, 4]}
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["c", "out.parquet"]


def test_state_export_does_not_follow_links() -> None:
    app()
    theirs = Path("theirs")
    theirs.write_text("precious")
    for name in (f".out.parquet.{os.getpid()}", "out.parquet"):
        Path(name).symlink_to(theirs)
    say("state", "export", "viewed", "counts", "out.parquet", *WHERE)
    assert theirs.read_text() == "precious"
    assert not Path("out.parquet").is_symlink()
    assert pq.read_table("out.parquet").num_rows == 3


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_state_verify_reads_all_objects(damage: str) -> None:
    made = app()
    say("state", "savepoint", "viewed", "monday", *WHERE)
    good = kstreams("state", "verify", "viewed", *WHERE)
    assert good.exit_code == 0
    assert "no differences from the commits" in good.stderr
    name = next(p.deltas[0].name for p in made.pointers.values() if p.deltas)
    data = made.objects.get(name)
    made.objects.delete([name])
    if damage == "damaged":
        made.objects.put_if_absent(name, data[:-40] + b"x" + data[-39:])
    bad = kstreams("state", "verify", "viewed", *WHERE)
    assert bad.exit_code == 1
    assert name in bad.stderr
    assert ("missing" if damage == "missing" else "do not match their checksum") in bad.stderr


def test_savepoint_is_forked_and_deleted() -> None:
    app()
    text = say("state", "savepoint", "viewed", "monday", *WHERE)
    assert text == "Created savepoint monday of viewed: in at batch 1.\n"
    say("state", "fork", "c@monday", "copy")
    say("state", "savepoint", "viewed", "monday", "--delete", *WHERE)
    assert say("state", "get", "copy", "counts", "fig") == "30\n"
    refused = kstreams("state", "fork", "c@monday", "again")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("SavepointError: app 'viewed' has no savepoint 'monday'")


@pytest.mark.parametrize(
    "command",
    [
        ("state", "list", "../c"),
        ("state", "savepoint", "../c", "x"),
        ("state", "fork", "c@monday", "../copy"),
        ("reset", "../c", "--yes"),
    ],
    ids=lambda command: "-".join(command[:2]),
)
def test_app_id_that_leads_outside_the_folder_is_refused(command: tuple[str, ...]) -> None:
    app()
    say("state", "savepoint", "viewed", "monday", *WHERE)
    result = kstreams(*command)
    assert result.exit_code == 1
    assert result.stderr.startswith("InvalidNameError: an app's id cannot be '../")
    assert not Path("copy").exists()


def test_state_commands_report_missing_names_with_suggestions() -> None:
    result = kstreams("state", "list", "viewed")
    assert result.exit_code == 1
    assert result.stderr.startswith("NoCheckpointError: there is no checkpoint at")
    app()
    wrong = kstreams("state", "get", "viewed", "count", "a", *WHERE)
    assert "did you mean 'counts'?" in wrong.stderr
    other = kstreams("state", "list", "other", *WHERE)
    assert "belongs to app 'viewed', not to 'other'" in other.stderr


@pytest.mark.parametrize(
    "command", ["list", "get", "scan", "export", "verify", "savepoint", "fork", "restore"]
)
def test_help_of_each_state_command_has_an_example(command: str) -> None:
    assert f"kstreams state {command}" in say("state", command, "--help")


def test_state_get_shows_timestamp_of_value_on_request() -> None:
    made = Committing(Path("c").absolute(), timestamped_store("t", key=TEXT, value=INT64))
    made.commit(lambda store, partition: store.put("a", 7, 5))
    assert say("state", "get", "viewed", "t", "a", *WHERE) == "7\n"
    assert say("state", "get", "viewed", "t", "a", *WHERE, "--timestamps") == f"7\t{at(5)}\n"
    assert words(say("state", "scan", "viewed", "t", *WHERE))[1] == ["a", "7", at(5)]


def test_composite_values_are_decoded_by_their_recorded_names() -> None:
    pair: Serde[Any] = TupleSerde(TEXT, INT64)
    store: Any = window_store("w", key=TEXT, value=collect(pair).state)
    made = Committing(Path("c").absolute(), store)
    made.commit(lambda store, partition: store.put(Windowed("a", 0, 10), (("x", 1), ("y", 2))))
    result = kstreams("state", "get", "viewed", "w", "a", *WHERE)
    assert (result.stdout, result.stderr) == (f"{at(0)}\t(('x', 1), ('y', 2))\n", "")


def test_values_of_an_unknown_serde_are_shown_as_bytes_with_a_note() -> None:
    made = Committing(Path("c").absolute(), key_value_store("s", key=TEXT, value=Odd()))
    made.commit(lambda store, partition: store.put("a", 7))
    for command in (("get", "viewed", "s", "a"), ("scan", "viewed", "s")):
        result = kstreams("state", *command, *WHERE)
        assert r"b'odd 7'" in result.stdout or "b'odd 7'" in result.stdout
        assert "shown as bytes: values of serde 'odd'" in " ".join(result.stderr.split())
        assert "--topology MODULE:NAME" in " ".join(result.stderr.split())
