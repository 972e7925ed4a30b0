"""Append-only tables: each row is read once, whenever it is committed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import psycopg
import pytest

from kstreams import INT64
from kstreams.errors import (
    CompileError,
    DataLossError,
    KStreamsError,
    SourceError,
    StateCorruptError,
)
from kstreams.sources import Log, Piece
from kstreams.testing import LogContract
from kstreams_postgres import PostgresRows, poll, rows
from tests.support.sinks.postgres_tables import SOON, Place

pytestmark = pytest.mark.slow

EVENTS = """
CREATE TABLE events (id bigserial PRIMARY KEY, text text, at timestamptz DEFAULT now(){})
"""
OWN = ", tx xid8 DEFAULT pg_current_xact_id()"
READER = "app.000000000000.query"


@dataclass(frozen=True)
class Event:
    """A row."""

    text: str


class Events:
    """A table and its log.

    Args:
        url: Address of the database.
        transaction: The column with transaction numbers.
    """

    def __init__(self, url: str, transaction: str) -> None:
        self.url = url
        self.transaction = transaction
        Place(url).execute(EVENTS.format(OWN if transaction == "tx" else ""))

    def log(self, **options: Any) -> PostgresRows[int, Event]:
        given: dict[str, Any] = {"time": "at", "transaction": self.transaction, **options}
        return rows("events", self.url, "events", INT64, Event, give_up_after=SOON, **given)

    def add(self, *texts: str) -> None:
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO events (text) VALUES (%s)", [(text,) for text in texts])

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return Place(self.url).execute(statement)


@pytest.fixture(params=["xmin", "tx"])
def events(request: pytest.FixtureRequest, database: str) -> Events:
    return Events(database, request.param)


def _texts(log: PostgresRows[int, Event], pieces: Sequence[Piece]) -> list[str]:
    with closing(log.reader()) as reader:
        tables = [reader.read(piece, max_bytes=1 << 30) for piece in pieces]
    values = [value for table in tables for value in table.column("value").to_pylist()]
    return [log.value.deserialize(value).text for value in values]


def _new(log: PostgresRows[int, Event], start: int = 0) -> list[str]:
    with closing(log.contents()) as contents:
        end = contents.ends()[0]
        return _texts(log, list(contents.pieces(0, max(start, contents.beginnings()[0]), end)))


class TestContract(LogContract[int, Event]):
    """Each `add` is a transaction."""

    @pytest.fixture(autouse=True)
    def _place(self, database: str) -> None:
        self.events = Events(database, "tx")

    def make(self) -> Log[int, Event]:
        return self.events.log(look_every=timedelta(0))

    def add(self, values: Sequence[str]) -> None:
        self.events.add(*values)

    def text(self, value: Event) -> str:
        return value.text


def test_row_with_a_lower_id_that_commits_later_is_read(events: Events) -> None:
    log = events.log()
    with (
        psycopg.connect(events.url) as first,
        psycopg.connect(events.url) as second,
        closing(log.contents()) as contents,
    ):
        # the lower transaction number, and the higher id
        second.execute("SELECT pg_current_xact_id()")
        first.execute("INSERT INTO events (text) VALUES ('low')")
        second.execute("INSERT INTO events (text) VALUES ('high')")
        with first.transaction():
            first.execute("INSERT INTO events (text) VALUES ('in a savepoint')")
        assert contents.ends() == {0: 0}
        second.commit()
        seen = _texts(log, list(contents.pieces(0, 0, contents.ends()[0])))
        assert seen == ["high"]
        events.add("later")
        assert contents.ends() == {0: 1}  # `first` holds it back
        first.commit()
        end = contents.ends()[0]
        assert _texts(log, list(contents.pieces(0, 1, end))) == ["low", "in a savepoint", "later"]
        assert _new(log) == [*seen, "low", "in a savepoint", "later"]


def test_row_whose_id_was_drawn_before_its_transaction_got_a_number_is_read(
    events: Events,
) -> None:
    log = events.log()
    events.add("first")  # a transaction that uses a sequence first gets a number for it
    with psycopg.connect(events.url) as slow:
        (drawn,) = slow.execute("SELECT nextval('events_id_seq')").fetchone() or (0,)
        events.add("quick")
        assert _new(log) == ["first", "quick"]
        slow.execute("INSERT INTO events (id, text) VALUES (%s, 'slow')", (drawn,))
        slow.commit()
    assert _new(log) == ["first", "quick", "slow"]


def test_offsets_continue_after_committed_rows_are_deleted_from_the_table(events: Events) -> None:
    log = events.log()
    for texts in (("a", "b"), ("c",), ("d", "e")):
        events.add(*texts)
        assert _new(log)[-1] == texts[-1]
    with closing(log.contents()) as contents:
        contents.claim(READER)
        contents.ends()
        contents.committed({0: 5})
        contents.committed({0: 1})
        assert contents.beginnings() == {0: 5}
        with pytest.raises(DataLossError, match="no longer has rows before offset 5"):
            list(contents.pieces(0, 1, 5))
    events.execute("DELETE FROM events")
    events.add("f")
    with closing(log.contents()) as contents:
        assert contents.ends() == {0: 6}
        assert _texts(log, list(contents.pieces(0, 5, 6))) == ["f"]


def test_change_of_row_in_uncommitted_batch_raises_error(
    events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = events.log()
    events.add("a", "b", "c")
    with closing(log.contents()) as contents:
        contents.claim(READER)
        plan = list(contents.pieces(0, 0, contents.ends()[0]))
        contents.committed({0: 1})
        assert contents.beginnings() == {0: 0}
        assert _texts(log, plan) == ["a", "b", "c"]
    events.execute("DELETE FROM events WHERE text = 'b'")
    with pytest.raises(DataLossError, match="were deleted or changed: expected"):
        _texts(log, plan)
    with pytest.raises(
        DataLossError, match="had 3 rows between the last two planned positions, and has 2"
    ):
        _new(log)
    log.forget()
    assert _new(log) == ["a", "c"]
    with pytest.raises(StateCorruptError, match="position in a table was expected"):
        _texts(log, [Piece(0, 0, 1, "elsewhere")])


def test_plan_of_many_rows_is_split_between_transactions(
    events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll, "_MARK_ROWS", 4)
    numbers = count()
    for size in (1, 3, 2, 9, 1):
        events.add(*(str(next(numbers)) for _ in range(size)))
    log = events.log()
    with closing(log.contents()) as contents:
        pieces = list(contents.pieces(0, 0, contents.ends()[0]))
        assert [piece.stop for piece in pieces] == [4, 15, 16]
        assert _texts(log, pieces) == [str(number) for number in range(16)]


def test_polled_table_refuses_a_second_reader(events: Events) -> None:
    log = events.log()
    with closing(log.contents()) as contents, closing(log.contents()) as fork:
        contents.claim(READER)
        with pytest.raises(SourceError, match=f"is read by {READER}"):
            fork.claim("fork.000000000001.query")


def test_wrapped_transaction_numbers_are_an_error_unless_they_have_64_bits(
    events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    events.add("a")
    monkeypatch.setattr(poll, "_EPOCH", 1)
    if events.transaction == "tx":
        assert _new(events.log()) == ["a"]
    else:
        with pytest.raises(SourceError, match="wrapped around") as caught:
            _new(events.log())
        assert "xid8 DEFAULT pg_current_xact_id()" in caught.value.hint


def test_unsupported_polled_table_is_refused_with_reason(database: str) -> None:
    place = Place(database)
    events = Events(database, "xmin")
    _new(events.log())
    place.execute("ALTER TABLE events ADD more int")
    _new(events.log())
    wrong: list[tuple[Any, str]] = [
        (events.log(time="never"), "no column 'never'"),
        (events.log(transaction="tx"), "created for table events"),
        (rows("other", database, "none", INT64, Event, time="at"), "no table 'none'"),
    ]
    for log, problem in wrong:
        with pytest.raises(KStreamsError, match=problem):
            _new(log)
    place.execute("DROP TABLE events")
    place.execute(EVENTS.format(""))
    with pytest.raises(SourceError, match="was created for table events"):
        _new(events.log())


def test_row_with_null_in_time_column_is_unreadable_record(database: str) -> None:
    events = Events(database, "xmin")
    events.execute("INSERT INTO events (text, at) VALUES ('a', NULL), ('b', now())")
    log = events.log()
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        (piece,) = contents.pieces(0, 0, contents.ends()[0])
        table = reader.read(piece, max_bytes=1 << 30)
    assert table.column("unreadable").to_pylist() == ["column 'at', the time, is null", None]


def test_polled_log_refuses_invalid_log_name_and_interval_and_hides_password() -> None:
    with pytest.raises(CompileError):
        rows("events", "", "events", INT64, Event, time="at")
    with pytest.raises(ValueError, match="negative"):
        rows("events", "u", "events", INT64, Event, time="at", look_every=timedelta(-1))
    log = rows("events", "postgresql://me:geheim@host/d", "events", INT64, Event, time="at")
    assert "geheim" not in repr(log) + log.label
    assert pickle.loads(pickle.dumps(log)) == log


def test_name_of_the_state_table_is_quoted(database: str) -> None:
    events = Events(database, "tx")
    log = events.log(state='we"ird %s {}; DROP TABLE events; --')
    events.add("a", "b")
    assert _new(log) == ["a", "b"]
    with closing(log.contents()) as contents:
        contents.claim(READER)
    log.forget()
    assert events.execute("SELECT count(*) FROM events") == [(2,)]
