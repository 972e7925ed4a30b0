"""Records of changed rows: rows before and after, in the order of commits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest

from kstreams import INT64, TEXT
from kstreams.clock import SystemClock
from kstreams.errors import DeserializationError, SourceError
from kstreams.serde.composite import TupleSerde
from kstreams_postgres import Change, slot_reader
from kstreams_postgres.slot import changes_query
from tests.connectors.kstreams_postgres.changed_tables import ORDERS, Order, Shop, all_of, read

pytestmark = pytest.mark.slow

FULL = "ALTER TABLE orders REPLICA IDENTITY FULL"
TEA, MILK = Order(1, "tea", 2), Order(2, "milk", 3)


@pytest.fixture
def shop(database: str) -> Iterator[Shop]:
    made = Shop(database)
    made.execute(ORDERS)
    yield made
    made.drop_slots()


def _change_rows(log: Any) -> list[tuple[Any, str, Any, Any]]:
    return [
        (each.key, each.change.operation, each.change.old, each.change.new)
        for each in all_of(log)
        if each.change is not None
    ]


def test_snapshot_rows_are_followed_by_changes(shop: Shop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'tea', 2)")
    log = shop.begin()
    shop.execute("INSERT INTO orders VALUES (2, 'milk', 3)", "UPDATE orders SET count = 9")
    shop.execute("DELETE FROM orders WHERE id = 1")
    assert _change_rows(log) == [
        (1, "snapshot", None, TEA),
        (2, "insert", None, MILK),
        (1, "update", None, Order(1, "tea", 9)),
        (2, "update", None, Order(2, "milk", 9)),
        (1, "delete", None, None),
    ]
    found = all_of(log)
    assert [each.offset for each in found] == [0, 1, 2, 4, 6]
    changes = [each.change for each in found if each.change is not None]
    assert changes[1].lsn == changes[2].lsn < changes[4].lsn
    assert changes[1].transaction == changes[2].transaction != changes[4].transaction
    assert abs(found[4].time - SystemClock().now_ms()) < 60_000


def test_log_without_snapshot_begins_with_changes_after_slot_creation(shop: Shop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'tea', 2)")
    log = shop.begin(snapshot=False)
    shop.execute("INSERT INTO orders VALUES (2, 'milk', 3)")
    assert _change_rows(log) == [(2, "insert", None, MILK)]


def test_full_replica_identity_adds_old_rows_to_changes(shop: Shop) -> None:
    shop.execute(FULL)
    log = shop.begin()
    shop.execute("INSERT INTO orders VALUES (1, 'tea', 2)")
    shop.execute("UPDATE orders SET count = 9")
    shop.execute("DELETE FROM orders")
    assert _change_rows(log)[1:] == [
        (1, "update", TEA, Order(1, "tea", 9)),
        (1, "delete", Order(1, "tea", 9), None),
    ]


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_update_of_key_is_read_as_deletion_and_insertion(shop: Shop, identity: str) -> None:
    shop.execute(f"ALTER TABLE orders REPLICA IDENTITY {identity}")
    log = shop.begin()
    shop.execute("INSERT INTO orders VALUES (1, 'tea', 2)")
    shop.execute("UPDATE orders SET id = 7")
    old = TEA if identity == "FULL" else None
    assert _change_rows(log)[1:] == [
        (1, "delete", old, None),
        (7, "insert", None, Order(7, "tea", 2)),
    ]
    with closing(log.contents()) as contents:
        end = contents.ends()[0]
        parts = [read(log, contents, n, n + 1) for n in range(end)]
    assert [each.key for part in parts for each in part] == [1, 1, 7]


def test_changes_of_table_with_key_of_several_columns_are_read(shop: Shop) -> None:
    shop.execute("CREATE TABLE stock (place text, item int, n int, PRIMARY KEY (item, place))")
    log = shop.begin(table="stock", row=dict, key=TupleSerde(INT64, TEXT))
    shop.execute("INSERT INTO stock VALUES ('here', 7, 1)", "DELETE FROM stock")
    assert [each.key for each in all_of(log)] == [(7, "here"), (7, "here")]


def test_transactions_are_read_in_the_order_of_their_commits(shop: Shop) -> None:
    log = shop.begin()
    with psycopg.connect(shop.url) as first, psycopg.connect(shop.url) as second:
        first.execute("INSERT INTO orders VALUES (1, 'tea', 2)")
        second.execute("INSERT INTO orders VALUES (2, 'milk', 3)")
        second.commit()
        first.execute("INSERT INTO orders VALUES (3, 'salt', 1)")
        assert [each.key for each in all_of(log)] == [2]
        with psycopg.connect(shop.url) as third:
            third.execute("INSERT INTO orders VALUES (4, 'gone', 1)")
            third.rollback()
        first.commit()
    assert [each.key for each in all_of(log)] == [2, 1, 3]


def test_transaction_that_runs_during_slot_creation_is_read_once(shop: Shop) -> None:
    with psycopg.connect(shop.url) as running:
        running.execute("INSERT INTO orders VALUES (1, 'tea', 2)")
        making = threading.Thread(target=shop.begin)
        making.start()
        with psycopg.connect(shop.url, autocommit=True) as other:
            while not other.execute(
                "SELECT FROM pg_replication_slots WHERE slot_name = %s", (shop.slot,)
            ).rowcount:
                making.join(0.01)
            other.execute("INSERT INTO orders VALUES (2, 'milk', 3)")
        running.execute("INSERT INTO orders VALUES (3, 'salt', 1)")
        running.commit()
        making.join()
    shop.execute("INSERT INTO orders VALUES (4, 'oil', 1)")
    assert sorted(each.key for each in all_of(shop.log())) == [1, 2, 3, 4]


@dataclass(frozen=True)
class Everything:
    """A column of each supported type."""

    id: int
    small: int
    price: Decimal
    ratio: float
    nothing: float
    fits: bool
    text: str
    padded: str
    data: bytes
    day: date
    at: datetime
    local: datetime
    span: timedelta
    uuid: UUID
    tree: dict[str, int]
    numbers: list[int | None]
    words: list[str]
    moments: list[datetime]
    mood: str
    none: str | None


COLUMNS = """
id bigint PRIMARY KEY, small smallint, price numeric, ratio float8, nothing float8, fits bool,
text text, padded char(5), data bytea, day date, at timestamptz, local timestamp, span interval,
uuid uuid, tree jsonb, numbers int[], words text[], moments timestamptz[], mood mood, none text
"""

VALUES = r"""
1, -3, 1.50, 0.1, 'NaN', true, E'a "quote", \\ and \n \u20ac', 'ab', '\x00ff', '2026-01-02',
'2026-01-02 03:04:05.678+02', '2026-01-02 03:04:05', '1 day 2 hours',
'6f1f5b9e-0000-4000-8000-000000000000', '{"a": 1}', '{1,NULL,3}', '{"a,b","q\"{","\\",""}',
'{"2026-01-02 03:04:05+00"}', 'fine', NULL
"""


def test_change_values_have_types_of_dataclass_fields(shop: Shop) -> None:
    shop.execute("CREATE TYPE mood AS ENUM ('fine')", f"CREATE TABLE every ({COLUMNS})")
    shop.execute(f"INSERT INTO every VALUES ({VALUES})")  # noqa: S608  # as above
    log = shop.begin(table="every", row=Everything)
    shop.execute("UPDATE every SET id = 2")
    copied, _, changed = all_of(log)
    assert copied.change is not None
    assert changed.change is not None
    utc = timezone.utc
    row = copied.change.new
    assert row is not None
    assert row.nothing != row.nothing
    expected = Everything(
        id=1,
        small=-3,
        price=Decimal("1.50"),
        ratio=0.1,
        nothing=row.nothing,
        fits=True,
        text='a "quote", \\ and \n \u20ac',
        padded="ab   ",
        data=b"\x00\xff",
        day=date(2026, 1, 2),
        at=datetime(2026, 1, 2, 1, 4, 5, 678000, utc),
        local=datetime(2026, 1, 2, 3, 4, 5),
        span=timedelta(days=1, hours=2),
        uuid=UUID("6f1f5b9e-0000-4000-8000-000000000000"),
        tree={"a": 1},
        numbers=[1, None, 3],
        words=["a,b", 'q"{', "\\", ""],
        moments=[datetime(2026, 1, 2, 3, 4, 5, 0, utc)],
        mood="fine",
        none=None,
    )
    assert row == expected
    assert repr(changed.change.new).replace("id=2", "id=1") == repr(row)
    assert log.value.deserialize(log.value.serialize(Change("insert", None, None))).new is None


LONG = "repeat(md5(random()::text), 300)"


@dataclass(frozen=True)
class Label:
    """A row without the long text."""

    id: int
    title: str


@dataclass(frozen=True)
class Book(Label):
    """A row with the long text."""

    body: str


BOOKS = (
    "CREATE TABLE books (id bigint PRIMARY KEY, title text, body text)",
    "ALTER TABLE books ALTER body SET STORAGE EXTERNAL",
    f"INSERT INTO books VALUES (1, 'one', {LONG})",  # noqa: S608  # as above
)


def test_update_that_omits_an_unchanged_long_value_is_an_unreadable_record(shop: Shop) -> None:
    shop.execute(*BOOKS)
    log = shop.begin(table="books", row=Book)
    shop.execute("UPDATE books SET title = 'two'")
    shop.execute("UPDATE books SET body = 'short'")
    copied, unknown, known = all_of(log)
    assert unknown.change is None
    assert "'body' was not changed" in str(unknown.unreadable)
    assert "REPLICA IDENTITY FULL" in str(unknown.unreadable)
    assert known.change is not None
    assert known.change.new == Book(1, "two", "short")
    assert copied.change is not None
    narrow = all_of(shop.log(table="books", row=Label))
    assert [each.change.new for each in narrow if each.change] == [
        *(Label(1, "one"), Label(1, "two"), Label(1, "two")),
    ]


def test_full_replica_identity_adds_unchanged_long_values_to_changes(shop: Shop) -> None:
    shop.execute(*BOOKS, "ALTER TABLE books REPLICA IDENTITY FULL")
    log = shop.begin(table="books", row=Book)
    shop.execute("UPDATE books SET title = 'two'")
    copied, changed = (each.change for each in all_of(log))
    assert copied is not None
    assert changed is not None
    assert changed.old == copied.new
    assert changed.new == Book(1, "two", copied.new.body if copied.new else "")


def test_truncated_table_is_an_unreadable_record(shop: Shop) -> None:
    shop.execute("CREATE TABLE other (id int PRIMARY KEY)")
    log = shop.begin()
    shop.execute("INSERT INTO orders VALUES (1, 'tea', 2)")
    shop.execute("TRUNCATE other")
    shop.execute("TRUNCATE other, orders")
    shop.execute("INSERT INTO orders VALUES (2, 'milk', 3)")
    first, truncated, last = all_of(log)
    assert (first.key, last.key, truncated.key) == (1, 2, None)
    assert "truncated" in str(truncated.unreadable)


def test_added_and_dropped_columns_are_ignored_and_a_renamed_column_is_an_error(shop: Shop) -> None:
    log = shop.begin()
    shop.execute("INSERT INTO orders VALUES (1, 'tea', 2)")
    shop.execute("ALTER TABLE orders DROP count", "ALTER TABLE orders ADD more text DEFAULT 'x'")
    shop.execute("INSERT INTO orders (id, item) VALUES (2, 'milk')")
    assert [each.change.new for each in all_of(log) if each.change] == [TEA, Order(2, "milk")]
    with closing(log.contents()) as contents:
        contents.ends()
        shop.execute("ALTER TABLE orders RENAME item TO name")
        shop.execute("INSERT INTO orders (id, name) VALUES (3, 'oil')")
        stop = contents.ends()[0]
        with pytest.raises(DeserializationError, match="item"):
            read(log, contents, 0, stop)
    with pytest.raises(SourceError, match=r"no column 'item', only id, name, more"):
        all_of(log)


def test_changes_of_other_tables_in_the_publication_are_left_out(shop: Shop) -> None:
    shop.execute("CREATE TABLE other (id int PRIMARY KEY)")
    shop.execute(f"CREATE PUBLICATION {shop.slot}_both FOR TABLE orders, other")
    log = shop.begin(publication=f"{shop.slot}_both")
    shop.execute("INSERT INTO other VALUES (5)", "INSERT INTO orders VALUES (1, 'tea', 2)")
    assert _change_rows(log) == [(1, "insert", None, TEA)]


def test_large_transaction_is_decoded_by_server_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = shop.begin()
    shop.execute("INSERT INTO orders SELECT n, 'tea', n FROM generate_series(1, 12000) n")
    shop.execute("INSERT INTO orders VALUES (0, 'milk', 3)")
    asked: list[int] = []

    def query(names: Any, upto: int) -> Any:
        asked.append(upto)
        return changes_query(names, upto)

    monkeypatch.setattr(slot_reader, "changes_query", query)
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        stop, keys = contents.ends()[0], 0
        for start in range(0, stop, 5_000):
            for piece in contents.pieces(0, start, min(start + 5_000, stop)):
                keys += reader.read(piece, max_bytes=1 << 30).num_rows
    assert keys == 12_001
    assert len(asked) == 2


def test_log_quotes_names_of_table_and_state_table(shop: Shop) -> None:
    name = 'we"ird; DROP TABLE kept; --'
    quoted = name.replace('"', '""')
    shop.execute(
        "CREATE TABLE kept (n int)", f'CREATE TABLE "{quoted}" (LIKE orders INCLUDING ALL)'
    )
    log = shop.begin(table=name, state='"%s {}')
    with closing(log.contents()) as contents:
        contents.claim("app.000000000000.query")
    log.drop()
    assert shop.execute("SELECT count(*) FROM kept") == [(0,)]
