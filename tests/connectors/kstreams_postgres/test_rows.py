"""Rows of the PostgreSQL sink: written ones, and refused ones that do not affect others."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from decimal import Decimal

import pytest

from kstreams.errors import RecordRefusedError, SinkError
from kstreams_postgres import Columns, PostgresTable
from tests.support.sinks.postgres_tables import SOON, Place, given, refused_rows, write

pytestmark = pytest.mark.slow

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)


@pytest.fixture
def place(database: str) -> Place:
    return Place(database)


def test_last_row_of_key_is_written_and_none_deletes_the_row(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, total int, kept int DEFAULT 7)")
    sink = place.totals()
    write(sink, given(("a", 1), ("b", 2), ("a", 3), ("c", 4), ("c", None), ("d", None)), 1)
    assert place.rows() == [("a", 3, 7), ("b", 2, 7)]
    place.execute("UPDATE totals SET kept = 8 WHERE word = 'a'")
    write(sink, given(("b", None), ("b", 5), ("a", 9)), 2)
    assert place.rows() == [("a", 9, 8), ("b", 5, 7)]


def test_each_bad_row_is_refused_with_its_reason_and_others_are_written(place: Place) -> None:
    place.execute(
        "CREATE TABLE totals (word varchar(5) PRIMARY KEY, total smallint NOT NULL CHECK "
        "(total <> 13))"
    )
    pairs: list[tuple[str, object]] = [(f"w{n}", n + 100) for n in range(300)]
    bad = {
        7: ("too long", 1),
        50: ("w", 13),
        51: ("x", 1 << 40),
        52: ("y", "text"),
        53: ("nul\0", 1),
        299: ("z", Decimal("1e9")),
    }
    for number, pair in bad.items():
        pairs[number] = pair
    refused = write(place.totals(), given(*pairs))
    assert [row.row for row in refused] == sorted(bad)
    codes = {row.row: row.code for row in refused}
    assert (codes[7], codes[50], codes[51]) == ("22001", "23514", "22003")
    assert len(place.rows()) == 300 - len(bad)
    letter = refused[0].letter
    assert json.loads(letter.key or b"") == {"word": "too long"}
    assert json.loads(letter.value or b"") == {"word": "too long", "total": 1}
    assert letter.timestamp == 1_007


def test_previous_row_of_key_is_written_if_its_last_row_is_refused(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, total int CHECK (total < 100))")
    refused = write(place.totals(), given(("a", 1), ("a", 500), ("b", 500), ("a", 600)))
    assert refused_rows(refused) == [(1, "23514"), (2, "23514"), (3, "23514")]
    assert place.rows() == [("a", 1)]


def test_retried_commit_refuses_the_same_rows(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, total int CHECK (total < 100))")
    pairs = (("a", 1), ("b", 500), ("nul\0", 7))
    first = write(place.totals(), given(*pairs))
    place.execute("ALTER TABLE totals DROP CONSTRAINT totals_total_check")
    assert write(place.totals(), given(*pairs)) == first
    assert place.rows() == [("a", 1)]


def test_values_of_several_types_are_written_to_their_columns(place: Place) -> None:
    place.execute(
        "CREATE TYPE mood AS ENUM ('good'); CREATE TABLE totals (word text PRIMARY KEY, n numeric, "
        "at timestamptz, doc jsonb, list int[], raw bytea, mood mood, day date)"
    )
    columns: Columns = {
        "n": 1.5,
        "at": NOW,
        "doc": {"a": [1, None]},
        "list": [1, 2],
        "raw": b"\0\1",
        "mood": "good",
        "day": NOW.date(),
    }
    sink = place.totals(row=lambda _word, _total: columns)
    assert write(sink, given(("a", 1))) == []
    assert place.rows() == [
        ("a", Decimal("1.5"), NOW, {"a": [1, None]}, [1, 2], b"\0\1", "good", NOW.date())
    ]


@pytest.mark.parametrize("kind", ["int2", "int4", "int8"])
def test_too_large_integer_is_refused_instead_of_truncated(place: Place, kind: str) -> None:
    place.execute(f"CREATE TABLE totals (word text PRIMARY KEY, total {kind})")
    bound = 1 << (8 * int(kind[-1]) - 1)
    whole = [("a", bound - 1), ("b", -bound)]
    assert write(place.totals(), given(*whole), 1) == []
    beyond = [("c", bound), ("d", -bound - 1), ("e", 1 << 70), ("f", 5)]
    assert [row.row for row in write(place.totals(), given(*beyond), 2)] == [0, 1, 2]
    assert place.rows() == [*whole, ("f", 5)]


def test_encoding_of_column_value_does_not_depend_on_other_rows(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, doc jsonb, yes bool, n int)")

    def row(_word: str, columns: Columns) -> Columns:
        return columns

    good: list[tuple[str, Columns]] = [
        ("a", {"doc": [1, 2], "yes": True, "n": 1}),
        ("b", {"doc": "text", "yes": False, "n": None}),
    ]
    odd: list[tuple[str, Columns]] = [
        ("c", {"doc": {"x": 1}, "yes": "false", "n": "7"}),
        ("d", {"doc": None, "yes": None, "n": True}),
    ]
    sink: PostgresTable[str, Columns] = place.totals(row=row)
    assert write(sink, given(*good), 1) == []
    alone = place.rows()
    assert refused_rows(write(sink, given(*good, *odd), 2)) == [(3, "22P02")]
    assert place.rows() == [*alone, ("c", {"x": 1}, False, 7)]
    assert alone == [("a", [1, 2], True, 1), ("b", "text", False, None)]


def test_rows_may_have_different_columns_and_unknown_columns_are_refused(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, x int DEFAULT 5, y int DEFAULT 6)")

    def row(_word: str, columns: Mapping[str, object]) -> Mapping[str, object]:
        return columns

    sink: PostgresTable[str, Mapping[str, object]] = place.totals(row=row)
    rows = given(("a", {"x": 1}), ("b", {"y": 2}), ("c", {}), ("d", {"z; drop table totals": 1}))
    (refused,) = write(sink, rows)
    assert refused.row == 3
    assert "unknown column" in refused.reason
    assert place.rows() == [("a", 1, 6), ("b", 5, 2), ("c", 5, 6)]


def test_record_whose_row_function_fails_is_refused(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, total int)")

    def row(_word: str, total: int) -> Mapping[str, object]:
        return {"total": 10 // total}

    refused = write(place.totals(row=row), given(("a", 5), ("b", 0), (None, 1), ([1], 2)))
    assert [row.row for row in refused] == [1, 2, 3]
    assert "ZeroDivisionError" in refused[0].reason
    assert place.rows() == [("a", 2)]


def test_error_in_rows_function_of_sink_made_by_of_batches_fails_the_batch(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, total int)")

    def rows(_records: object) -> list[tuple[object, Columns | None]]:
        raise OSError("no answer")

    sink: PostgresTable[str, int] = PostgresTable.of_batches(
        place.url, "totals", key=("word",), rows=rows
    )
    with pytest.raises(OSError, match="no answer"):
        write(sink, given(("a", 1)))
    assert place.rows() == []


def test_key_of_several_columns_is_a_tuple_and_rows_with_other_key_values_are_refused(
    place: Place,
) -> None:
    place.execute("CREATE TABLE totals (shop text, day date, n int, PRIMARY KEY (day, shop))")
    sink = place.totals(key=("shop", "day"), row=lambda _key, row: row)
    day = NOW.date()
    rows = given(
        (("s", day), {"n": 1}),
        (("s", day), {"n": 2, "shop": "s"}),
        (("s", day), {"n": 3, "shop": "other"}),
        ("s", {"n": 4}),
        (("t", day), {"n": 5}),
        (("t", day), None),
    )
    refused = write(sink, rows)
    assert [row.row for row in refused] == [2, 3]
    assert place.rows() == [("s", day, 2)]


def test_names_with_quotes_spaces_and_percent_signs_are_quoted(place: Place) -> None:
    place.execute('CREATE TABLE "to""tals; --" ("wo rd" text PRIMARY KEY, "%s" int)')
    sink: PostgresTable[str, int] = PostgresTable(
        place.url,
        'to"tals; --',
        key=("wo rd",),
        row=lambda _word, total: {"%s": total},
        give_up_after=SOON,
        fence='fen"ce',
    )
    assert write(sink, given(("a'; --", 1))) == []
    assert place.execute('SELECT * FROM "to""tals; --"') == [("a'; --", 1)]


def test_keys_that_are_equal_only_in_the_database_are_written_in_order(place: Place) -> None:
    place.execute("CREATE TABLE totals (word numeric PRIMARY KEY, total int)")
    refused = write(place.totals(), given(("1", 1), ("1.0", 2), ("2", 3)))
    assert refused == []
    assert place.rows() == [(Decimal(1), 2), (Decimal(2), 3)]


def test_rows_refused_by_trigger_foreign_key_or_deferred_constraint_are_dead_lettered(
    place: Place,
) -> None:
    place.execute("CREATE TABLE words (word text PRIMARY KEY); INSERT INTO words VALUES ('a')")
    place.execute(
        "CREATE TABLE totals (word text PRIMARY KEY REFERENCES words DEFERRABLE INITIALLY "
        "DEFERRED, total int)"
    )
    place.execute(
        "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.total = 13 "
        "THEN RAISE 'unlucky'; END IF; RETURN NEW; END $$"
    )
    place.execute(
        "CREATE TRIGGER odd BEFORE INSERT OR UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION odd()"
    )
    refused = write(place.totals(), given(("a", 1), ("b", 2), ("a", 13)))
    assert refused_rows(refused) == [(1, "23503"), (2, "P0001")]
    assert place.rows() == [("a", 1)]


def test_policy_fail_writes_no_row_and_commit_can_be_repeated(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, total int CHECK (total < 100))")
    with pytest.raises(RecordRefusedError, match="violates check constraint"):
        write(place.totals(), given(("a", 1), ("b", 500), fails=True))
    assert place.rows() == []
    write(place.totals(), given(("a", 1), ("b", 5)))
    assert place.rows() == [("a", 1), ("b", 5)]


def test_table_without_key_appends_rows_in_order_and_skips_none(place: Place) -> None:
    place.execute("CREATE TABLE totals (id serial, word text, total int)")

    def row(word: str, total: int | None) -> Columns | None:
        return None if total is None else {"word": word, "total": total}

    sink = place.totals(key=(), row=row)
    write(sink, given(("a", 1), ("a", 2), ("b", None), ("c", "x")), 1)
    write(sink, given(("a", 3)), 2)
    assert [found[1:] for found in place.rows()] == [("a", 1), ("a", 2), ("a", 3)]


def test_rows_of_smaller_plan_replace_rows_of_larger_plan_of_same_batch(place: Place) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, total int)")
    write(place.totals(), given(("a", 1), ("b", 2)), 4)
    write(place.totals(), given(("a", 1)), 4, revision=1)
    write(place.totals(), given(("a", 9), ("b", 9)), 4)  # of a late driver
    write(place.totals(), given(("b", 2)), 5)
    assert place.rows() == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("ddl", "options", "why"),
    [
        ("CREATE TABLE other (word text)", {}, "there is no table 'totals'"),
        ("CREATE TABLE totals (w text PRIMARY KEY)", {}, "has no column 'word'"),
        ("CREATE TABLE totals (word text, total int)", {}, "unique constraint on key= word"),
        (
            "CREATE TABLE totals (word text, total int, UNIQUE (word, total))",
            {},
            "unique constraint on key= word",
        ),
    ],
)
def test_unsuitable_table_is_reported_at_the_start(
    place: Place, ddl: str, options: dict[str, object], why: str
) -> None:
    place.execute(ddl)
    with pytest.raises(SinkError, match=why):
        place.totals(**options).prepare()


WEIRD = ('we"ird', "x; DROP TABLE kept; --", "%s {} $1", "select", "A b", "';")
"""Names that are arbitrary text, and never part of a statement."""


def quoted(name: str) -> str:
    """Return a name as quoted in SQL."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


@pytest.mark.parametrize("name", WEIRD)
def test_hostile_table_and_column_names_are_quoted(place: Place, name: str) -> None:
    place.execute("CREATE TABLE kept (n int)")
    place.execute(
        f"CREATE TABLE {quoted(name)} ({quoted(name)} text PRIMARY KEY, {quoted(name + '2')} int)"
    )

    def row(_: str, total: int | None) -> Mapping[str, object] | None:
        return None if total is None else {f"{name}2": total}

    sink = PostgresTable(
        place.url, name, key=(name,), row=row, give_up_after=SOON, fence=f"{name} fence"
    )
    write(sink, given(("a", 1), ("b", 2), ("b", None), ("';--", 3)), 1)
    assert place.rows(quoted(name)) == [("';--", 3), ("a", 1)]
    assert place.rows("kept") == []


@pytest.mark.parametrize("name", ['total" = 1; DROP TABLE totals; --', "nul\0", "%s"])
def test_row_with_an_unknown_column_name_is_refused_without_running_its_sql(
    place: Place, name: str
) -> None:
    place.execute("CREATE TABLE totals (word text PRIMARY KEY, total int)")

    def row(word: str, total: int) -> Mapping[str, object]:
        return {name: total} if word == "bad" else {"total": total}

    refused = write(place.totals(row=row), given(("a", 1), ("bad", 2), ("c", 3)))
    assert [each.row for each in refused] == [1]
    assert place.rows() == [("a", 1), ("c", 3)]
