"""The plain model that peers are compared with counts correctly."""

from __future__ import annotations

import pyarrow as pa

from benchmarks.suite.plain import each_key, sessions, windows

RECORDS = [(b"a", 0, 1), (b"b", 5, 2), (b"a", 10, 4), (b"a", 41, 8), (b"b", 12, 16)]


def table() -> pa.Table:
    rows = sorted(RECORDS, key=lambda record: record[1])
    columns = zip(*rows, strict=True)
    names = ("key", "timestamp", "amount")
    made = dict(zip(names, map(list, columns), strict=True))
    return pa.table({**made, "value": [b""] * len(rows)})


def test_each_key_function_counts_records_and_finds_last_time_of_each_key() -> None:
    assert each_key(table()) == {(b"a", 0, 0): (3, 41), (b"b", 0, 0): (2, 12)}


def test_windows_function_counts_records_of_tumbling_windows() -> None:
    assert windows(table(), 10, 10) == {
        (b"a", 0, 0): (1, 0),
        (b"a", 10, 0): (1, 10),
        (b"a", 40, 0): (1, 41),
        (b"b", 0, 0): (1, 5),
        (b"b", 10, 0): (1, 12),
    }


def test_windows_function_sums_a_column_of_hopping_windows() -> None:
    found = windows(table(), 20, 10, column="amount")
    assert found[b"a", 0, 0] == (5, 10)
    assert found[b"a", -10, 0] == (1, 0)
    assert found[b"a", 30, 0] == (8, 41)
    assert found[b"b", 0, 0] == (18, 12)


def test_sessions_end_where_the_pause_is_longer_than_the_gap() -> None:
    assert sessions(table(), 10) == {
        (b"a", 0, 10): (2, 10),
        (b"a", 41, 41): (1, 41),
        (b"b", 5, 12): (2, 12),
    }
    assert len(sessions(table(), 9)) == 4
    assert len(sessions(table(), 31)) == 2
