"""Rows of the Cassandra sink: written, refused and replaced ones."""

from __future__ import annotations

import datetime
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from kstreams.errors import SinkError
from tests.connectors.kstreams_cassandra.tables import Place
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = pytest.mark.connectors


def test_last_row_of_key_is_written_without_changing_omitted_columns_and_none_deletes(
    place: Place,
) -> None:
    place.make("word text PRIMARY KEY, total int, kept text")
    rows = given(("a", {"total": 1, "kept": "x"}), ("b", 1), ("b", 2), ("c", 3), ("c", None))
    assert write(place.sink(), rows, commit_of(1)) == []
    assert place.rows("word, total, kept") == [("a", 1, "x"), ("b", 2, None)]
    rows = given(("a", 5), ("b", None), ("d", None), ("d", 4), ("e", {}))
    assert write(place.sink(), rows, commit_of(2)) == []
    found = place.rows("word, total, kept")
    assert found == [("a", 5, "x"), ("d", 4, None), ("e", None, None)]


def test_values_of_several_types_are_written_to_their_columns(place: Place) -> None:
    place.make("shop text, day date, n decimal, tags set<text>, raw blob, PRIMARY KEY (shop, day)")
    day = datetime.date(2026, 1, 2)
    row = {"n": Decimal("1.5"), "tags": {"x"}, "raw": b"\0"}
    sink = place.sink(key=("shop", "day"))
    rows = given((("s", day), row), ("s", row), (("s", None), row), (("t", day), {"shop": "u"}))
    assert [refused.row for refused in write(sink, rows)] == [1, 2, 3]
    (found,) = place.rows("shop, n, tags, raw")
    assert found == ("s", Decimal("1.5"), {"x"}, b"\0")


def test_refused_row_affects_no_other_row_and_is_refused_at_retry(place: Place) -> None:
    place.make()
    bad: list[tuple[Any, Any]] = [
        ("bits", 1 << 40),
        ("text", "x"),
        (None, 1),
        (5, 1),
        ("column", {"nope; DROP TABLE k": 1}),
        ("list", [1]),
        ("other", {"word": "else"}),
        ("x" * 70_000, 1),
        ("", 1),
    ]
    for _ in range(2):
        refused = write(place.sink(), given(("a", 1), *bad, ("z", 2)))
        assert sorted(row.row for row in refused) == list(range(1, len(bad) + 1))
        assert [row.row for row in refused if row.code] == [8, 9]  # by the node
    assert place.rows() == [("a", 1), ("z", 2)]


def test_write_of_older_commit_changes_no_row_and_write_of_later_epoch_does(place: Place) -> None:
    place.make()
    place.insert("word, total", "'before', 1")
    write(place.sink(), given(("a", 5), ("b", 5), ("before", 2)), commit_of(5))
    write(place.sink(), given(("b", None)), commit_of(6))
    with closing(place.sink().open()) as late:
        late.write(given(("a", 4), ("b", 4), ("c", 4)), commit_of(4))
        late.write(given(("a", 7)), commit_of(6, revision=1))
        late.write(given(("a", 8)), commit_of(6))
    assert place.rows() == [("a", 7), ("before", 2), ("c", 4)]
    write(place.sink(), given(("a", 0), ("b", 0)), commit_of(0, epoch="another"))
    write(place.sink(), given(("a", 9), ("c", None)), commit_of(7))  # of the epoch before
    assert place.rows() == [("a", 0), ("b", 0), ("before", 2)]


def test_write_times_increase_with_epochs_whatever_the_clock(place: Place) -> None:
    place.make()
    sink = place.sink(epochs=f"lives_{place.name}".lower())
    sink.prepare()
    ahead = 1 << 60
    place.insert("written, epoch, base", f"'{place.name}', 'ahead', {ahead}", sink.epochs)
    write(sink, given(("a", 1)))
    ((at,),) = place.rows("writetime(total)")
    assert at == ahead + 60_000_000
    write(replace(sink), given(("a", 2)), commit_of(1))
    ((at,),) = place.rows("writetime(total)")
    assert at == ahead + 60_000_000 + 64


def test_previous_row_of_key_is_written_if_its_last_row_is_refused(place: Place) -> None:
    place.make("word text, day text, total int, PRIMARY KEY (word, day)")
    sink = place.sink(key=("word", "day"))
    rows = given((("a", "x"), 1), (("a", "x"), 1 << 40), (("b", "x"), 1 << 40), (("", "x"), 1))
    assert [row.row for row in write(sink, rows)] == [1, 2, 3]
    assert place.rows() == [("a", 1)]


def test_batch_of_many_rows_is_written_completely(place: Place) -> None:
    place.make()
    pairs = [(f"k{n:04}", n) for n in range(1_000)]
    assert write(place.sink(), given(*pairs)) == []
    assert place.rows() == pairs


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ("", "there is no table"),
        ("word text, total int, PRIMARY KEY (word, total)", "is .'word', 'total'., not"),
        ("word text PRIMARY KEY, total counter", "has counters"),
    ],
)
def test_unsuitable_table_is_reported_at_the_start(place: Place, columns: str, why: str) -> None:
    if columns:
        place.make(columns)
    with pytest.raises(SinkError, match=why):
        place.sink().prepare()
