"""A slot confirms committed changes, has one reader, and detects lost changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from devtools.servers.ports import free_ports
from kstreams import TEXT
from kstreams.errors import (
    CompileError,
    DataLossError,
    SourceError,
    SourceUnavailableError,
    StateCorruptError,
)
from kstreams.log import Piece
from kstreams_postgres import changes, slot_making
from tests.connectors.kstreams_postgres.changed_tables import (
    ORDERS,
    Order,
    Shop,
    all_of,
    read,
    read_pieces,
)
from tests.support.sinks.postgres_tables import SOON

pytestmark = pytest.mark.slow

READER = "app.000000000000.query"
COPIES = "SELECT count(*) FROM pg_class WHERE relname = 'kstreams_copy_{}'"


@pytest.fixture
def shop(database: str) -> Iterator[Shop]:
    made = Shop(database)
    made.execute(ORDERS)
    made.execute("INSERT INTO orders SELECT n, 'tea', n FROM generate_series(1, 3) n")
    yield made
    made.drop_slots()


def _insert(shop: Shop, *numbers: int) -> None:
    with psycopg.connect(shop.url, autocommit=True) as connection:
        for number in numbers:
            connection.execute("INSERT INTO orders VALUES (%s, 'tea', %s)", (number, number))


def _slot_lsn(shop: Shop) -> str:
    with psycopg.connect(shop.url) as connection:
        found = connection.execute(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s",
            (shop.slot,),
        ).fetchone()
    assert found is not None
    return str(found[0])


def test_committed_changes_are_confirmed_and_offsets_continue(shop: Shop) -> None:
    log = shop.begin()
    _insert(shop, 4, 5, 6)
    before, slot = all_of(log), _slot_lsn(shop)
    assert all_of(log) == before
    with closing(log.contents()) as contents:
        contents.claim(READER)
        for position, keys in ((2, [3, 4, 5, 6]), (3, [4, 5, 6]), (5, [6]), (6, [])):
            contents.committed({0: position})
            contents.committed({0: 1})  # late, and older
            assert contents.beginnings() == {0: position}
            left = all_of(log)
            assert left == [each for each in before if each.offset >= position]
            assert [each.key for each in left] == keys
            assert shop.execute(COPIES.format(shop.slot)) == [(int(position < 3),)]
    assert _slot_lsn(shop) > slot
    _insert(shop, 7)
    assert [(each.offset, each.key) for each in all_of(log)] == [(6, 7)]


def test_partly_read_transaction_is_not_confirmed_to_server(shop: Shop) -> None:
    log = shop.begin()
    shop.execute("INSERT INTO orders SELECT n, 'tea', n FROM generate_series(4, 9) n")
    with closing(log.contents()) as contents:
        contents.claim(READER)
        contents.committed({0: 6})
        assert contents.beginnings() == {0: 3}
        assert [each.key for each in read(log, contents, 6, 9)] == [7, 8, 9]
        with pytest.raises(DataLossError, match="no longer has changes before offset 3"):
            list(contents.pieces(0, 2, 9))


def test_plan_is_read_again_unchanged_until_its_changes_are_confirmed(
    shop: Shop,
) -> None:
    log = shop.begin()
    _insert(shop, 4, 5)
    with closing(log.contents()) as contents:
        contents.claim(READER)
        plan = list(contents.pieces(0, 3, contents.ends()[0]))
        found = read_pieces(log, plan)
        _insert(shop, 6)
        assert read_pieces(log, plan) == found
        contents.ends()
        contents.committed({0: 5})
        with pytest.raises(DataLossError, match="no longer has the planned offsets 3 to 5"):
            read_pieces(log, plan)
    with pytest.raises(StateCorruptError, match="position in a slot was expected"):
        read_pieces(log, [Piece(0, 3, 5, "elsewhere")])


def test_replication_slot_of_idle_table_is_advanced(shop: Shop) -> None:
    log = shop.begin()
    shop.execute("CREATE TABLE busy (text text)")
    with closing(log.contents()) as contents:
        contents.claim(READER)
        contents.committed(contents.ends())
        slot = _slot_lsn(shop)
        shop.execute("INSERT INTO busy SELECT repeat('x', 1000) FROM generate_series(1, 3000)")
        with closing(log.contents()) as other:
            assert other.ends() == contents.beginnings()
            assert _slot_lsn(shop) == slot  # an observer does not move the slot
        status = log.status()
        assert status is not None
        assert status.lag_bytes > 3_000_000
        contents.ends()
        assert _slot_lsn(shop) > slot
        status = log.status()
        assert status is not None
        assert (status.reader, status.offset, status.wal_status) == (READER, 3, "reserved")
        assert status.lag_bytes < 1_000_000
    _insert(shop, 4)
    assert [each.key for each in all_of(log)] == [4]


def test_slot_refuses_a_second_reader_until_it_is_released(shop: Shop) -> None:
    log = shop.begin()
    with closing(log.contents()) as contents, closing(log.contents()) as fork:
        contents.claim(READER)
        contents.claim(READER)
        with pytest.raises(SourceError, match=f"is read by {READER}") as caught:
            fork.claim("fork.000000000001.query")
        assert "another slot" in caught.value.hint
        contents.committed({0: 2})
        log.release()
        fork.claim("fork.000000000001.query")
        assert [each.key for each in read(log, fork, 2, fork.ends()[0])] == [3]


def test_dropped_log_can_be_created_again_and_has_another_id(shop: Shop) -> None:
    log = shop.begin()
    with closing(log.contents()) as contents:
        contents.claim(READER)
        contents.committed({0: 3})
        old = contents.log_id
    _insert(shop, 4)
    log.drop()
    log.drop()
    assert log.status() is None
    assert shop.execute("SELECT FROM pg_publication WHERE pubname = '" + shop.slot + "'") == []
    assert [each.key for each in all_of(log)] == [1, 2, 3, 4]
    with closing(log.contents()) as contents:
        assert contents.log_id != old
        contents.claim("another.000000000000.query")


def test_process_killed_during_slot_creation_leaves_no_partial_snapshot(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> int:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(slot_making, "_copied", dies)
        with pytest.raises(RuntimeError, match="killed"):
            shop.begin()
    _insert(shop, 4)
    assert [each.key for each in all_of(shop.log())] == [1, 2, 3, 4]


def test_missing_replication_slot_raises_error(shop: Shop) -> None:
    log = shop.begin()
    with closing(log.contents()) as contents:
        plan = list(contents.pieces(0, 0, contents.ends()[0]))
    shop.drop_slots()
    with pytest.raises(DataLossError, match="was dropped") as caught:
        all_of(log)
    assert "copies the table again" in caught.value.hint
    assert [each.key for each in read_pieces(log, plan)] == [1, 2, 3]  # from the copy


@pytest.mark.parametrize("how", ["advanced", "created again"])
def test_slot_moved_by_another_client_is_an_error(shop: Shop, how: str) -> None:
    log = shop.begin()
    _insert(shop, 4)
    if how == "advanced":
        shop.execute(
            f"SELECT pg_replication_slot_advance('{shop.slot}', pg_current_wal_flush_lsn())"
        )
    else:
        shop.drop_slots()
        shop.execute(f"SELECT pg_create_logical_replication_slot('{shop.slot}', 'pgoutput')")
    with pytest.raises(DataLossError, match=r"moved to .* or created again by another client"):
        all_of(log)


def test_log_reports_bytes_retained_by_slot_and_bytes_left_until_limit(shop: Shop) -> None:
    log = shop.begin()
    shop.execute("CREATE TABLE busy (text text)")
    try:
        with closing(log.contents()) as contents:
            assert contents.retained() is None
            contents.ends()
            before = contents.retained()
            assert before is not None
            assert before.room_bytes is None
            _alter_system(shop, "SET max_slot_wal_keep_size = '64MB'")
            shop.execute("INSERT INTO busy SELECT repeat('x', 1000) FROM generate_series(1, 3000)")
            contents.ends()
            after = contents.retained()
        assert after is not None
        assert after.size_bytes > before.size_bytes + 3_000_000
        status = log.status()
        assert status is not None
        for room in (after.room_bytes, status.room_bytes):
            assert room is not None
            assert 0 < room < 100 << 20
    finally:
        _alter_system(shop, "RESET max_slot_wal_keep_size")


def test_slot_that_exceeded_the_retained_wal_is_an_error(shop: Shop) -> None:
    log = shop.begin()
    shop.execute("CREATE TABLE busy (text text)")
    try:
        _alter_system(shop, "SET max_slot_wal_keep_size = '1MB'")
        for _ in range(20):
            shop.execute("INSERT INTO busy VALUES ('x')")
            shop.execute("SELECT pg_switch_wal()")
            shop.execute("CHECKPOINT")
            status = log.status()
            if status is not None and status.wal_status == "lost":
                break
        with pytest.raises(DataLossError, match="fell behind") as caught:
            all_of(log)
        assert "max_slot_wal_keep_size" in caught.value.hint
    finally:
        _alter_system(shop, "RESET max_slot_wal_keep_size")


def _alter_system(shop: Shop, what: str) -> None:
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM {what}".encode())
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.1)


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (("ALTER TABLE orders DROP CONSTRAINT orders_pkey",), "has no primary key"),
        (("ALTER TABLE orders REPLICA IDENTITY NOTHING",), "replica identity of table 'orders'"),
        (
            (
                "CREATE UNIQUE INDEX items ON orders (item)",
                "ALTER TABLE orders REPLICA IDENTITY USING INDEX items",
            ),
            "replica identity of table 'orders'",
        ),
        (("ALTER TABLE orders RENAME TO former",), "there is no table 'orders'"),
        (("ALTER TABLE orders DROP item",), "no column 'item'"),
    ],
    ids=["no-key", "no-identity", "other-identity", "no-table", "no-column"],
)
def test_unsupported_table_of_change_log_is_refused_with_reason(
    shop: Shop, statements: tuple[str, ...], problem: str
) -> None:
    shop.execute("DELETE FROM orders")
    shop.execute(*statements)
    with pytest.raises(SourceError, match=problem):
        shop.begin()


def test_table_dropped_and_recreated_raises_error(shop: Shop) -> None:
    log = shop.begin()
    shop.execute("ALTER TABLE orders DROP CONSTRAINT orders_pkey")
    shop.execute("ALTER TABLE orders ADD PRIMARY KEY (id, item)")
    with pytest.raises(SourceError, match=r"was id when .* and is id, item now"):
        all_of(log)
    shop.execute("DROP TABLE orders", ORDERS)
    with pytest.raises(SourceError, match="was dropped or created again"):
        all_of(log)


def test_missing_or_foreign_publications_and_slots_are_refused(shop: Shop) -> None:
    with pytest.raises(SourceError, match="publication 'none' does not exist"):
        shop.begin(publication="none")
    shop.begin()
    shop.execute(f"ALTER PUBLICATION {shop.slot} DROP TABLE orders")
    with pytest.raises(SourceError, match="does not have table 'orders'"):
        all_of(shop.log())
    shop.execute("CREATE TABLE other (id int PRIMARY KEY)")
    with pytest.raises(SourceError, match="was created for table 'orders', not 'other'"):
        shop.begin(table="other")
    taken = f"{shop.slot}_taken"
    shop.execute(f"SELECT pg_create_logical_replication_slot('{taken}', 'pgoutput')")
    with pytest.raises(SourceError, match="does not list it as a slot"):
        shop.begin(slot=taken)


def test_key_serde_of_another_type_is_an_error(shop: Shop) -> None:
    with pytest.raises(SourceError, match="primary key does not fit"):
        all_of(shop.begin(key=TEXT))


def test_unreachable_database_is_reported_without_the_secret(shop: Shop) -> None:
    (port,) = free_ports(1)
    url = f"postgresql://me:geheim@127.0.0.1:{port}/shop"
    log = changes("orders", url, "orders", TEXT, Order, give_up_after=SOON)
    with pytest.raises(SourceUnavailableError) as caught:
        log.contents().ends()
    assert "geheim" not in f"{caught.value}{log!r}{log.label}"


def test_invalid_names_of_slots_and_tables_are_refused() -> None:
    for name, table in (("a/b", "orders"), ("Orders", "orders"), ("orders", "")):
        with pytest.raises(CompileError):
            changes(name, "postgresql://h/d", table, TEXT, Order)
