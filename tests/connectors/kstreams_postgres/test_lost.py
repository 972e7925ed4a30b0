"""Lost connections at each step, held locks, unreachable databases."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from devtools.servers.ports import free_ports
from kstreams.errors import SinkError, SinkUnavailableError
from kstreams.sinks import CommitId
from kstreams_postgres import PostgresTable
from tests.support.sinks.postgres_tables import Place, given, total_row, write

pytestmark = pytest.mark.slow

LONG = timedelta(seconds=20)
PAIRS = (("a", 1), ("b", 2), ("b", 500))


@pytest.fixture
def place(database: str) -> Place:
    made = Place(database)
    made.execute("CREATE TABLE totals (word text PRIMARY KEY, total int CHECK (total < 100))")
    return made


class Cutter:
    """Ends the server's side of a connection before one of its statements."""

    def __init__(self, place: Place, patch: pytest.MonkeyPatch, nth: int) -> None:
        self.left = nth
        self.struck = False
        for owner, name in ((psycopg.Connection, "execute"), (psycopg.Cursor, "copy")):
            patch.setattr(owner, name, self._cutting(place, getattr(owner, name)))

    def _cutting(self, place: Place, real: Callable[..., Any]) -> Callable[..., Any]:
        def cut(own: Any, *given: Any, **named: Any) -> Any:
            connection = own if isinstance(own, psycopg.Connection) else own.connection
            self.left -= 1
            if not self.left and not self.struck:
                self.struck = True
                place.execute(f"SELECT pg_terminate_backend({connection.info.backend_pid})")
            return real(own, *given, **named)

        return cut


@pytest.mark.parametrize("visible", ["at-write", "at-commit"])
@pytest.mark.parametrize("nth", [1, 3, 5, 7, 8, 10, 12])
def test_postgres_sink_writes_each_row_once_whenever_the_connection_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch, nth: int, visible: str
) -> None:
    sink = place.totals(visible=visible, give_up_after=LONG)
    sink.prepare()
    commit = CommitId("epoch", "out", 0, 0)
    with monkeypatch.context() as patch:
        cutter = Cutter(place, patch, nth)
        results = given(*PAIRS)
        writer = sink.open()
        receipts = writer.write(results, commit)
        if receipts:
            sink.publish({commit: receipts})
        writer.close()
    assert cutter.struck
    assert place.rows() == [("a", 1), ("b", 2)]
    assert [row.row for row in results.refused] == [2]


def test_retry_after_lost_reply_to_commit_writes_no_row_twice(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.execute("CREATE TABLE adds (n int)")
    place.execute(
        "CREATE FUNCTION add() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN INSERT INTO adds VALUES (1); RETURN NEW; END $$"
    )
    place.execute("CREATE TRIGGER add AFTER INSERT ON totals FOR EACH ROW EXECUTE FUNCTION add()")
    lost: list[bool] = []
    real = psycopg.Transaction.__exit__

    def losing(own: Any, *given: Any) -> Any:
        done = real(own, *given)
        if own.savepoint_name is None or not own._outer_transaction:
            return done
        if not lost:
            lost.append(True)
            own.connection.close()
            raise psycopg.OperationalError("the answer is lost")
        return done

    sink = place.totals(give_up_after=LONG)
    sink.prepare()
    monkeypatch.setattr(psycopg.Transaction, "__exit__", losing)
    results = given(("a", 1))
    with closing(sink.open()) as writer:
        writer.write(results, CommitId("epoch", "out", 0, 0))
    monkeypatch.undo()
    assert place.rows() == [("a", 1)]
    assert place.execute("SELECT count(*) FROM adds") == [(1,)]


def test_concurrent_attempts_of_batch_write_rows_once(place: Place) -> None:
    place.execute("CREATE TABLE list (word text)")
    sink: PostgresTable[str, int] = PostgresTable(
        place.url, "list", key=(), row=lambda word, _: {"word": word}, visible="at-write"
    )
    sink.prepare()
    failures: list[BaseException] = []

    def attempt() -> None:
        try:
            with closing(sink.open()) as writer:
                writer.write(given(("a", 1), ("b", 2)), CommitId("epoch", "out", 0, 3))
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=attempt) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert place.rows("list") == [("a",), ("b",)]


def test_tasks_with_the_same_keys_in_different_orders_do_not_deadlock(
    place: Place,
) -> None:
    sink = place.totals(give_up_after=LONG)
    sink.prepare()
    pairs = [(f"w{n}", n % 90) for n in range(300)]
    failures: list[BaseException] = []

    def task(number: int) -> None:
        rows = pairs if number % 2 else pairs[::-1]
        try:
            with closing(sink.open()) as writer:
                for batch in range(5):
                    writer.write(given(*rows), CommitId("epoch", "out", number, batch))
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=task, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(place.rows()) == 300


def test_table_lock_held_beyond_time_limit_fails_batch(place: Place) -> None:
    sink = place.totals(
        lock_timeout=timedelta(milliseconds=100), give_up_after=timedelta(seconds=1)
    )
    sink.prepare()
    with psycopg.connect(place.url) as holder:
        holder.execute("LOCK TABLE totals IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(SinkUnavailableError, match="lock timeout") as caught:
            sink.open().write(given(("a", 1)), CommitId("epoch", "out", 0, 0))
        assert caught.value.code == "55P03"
    write(sink, given(("a", 1)))
    assert place.rows() == [("a", 1)]


def test_write_succeeds_after_table_lock_is_released_within_time_limit(place: Place) -> None:
    sink = place.totals(lock_timeout=timedelta(milliseconds=100), give_up_after=LONG)
    sink.prepare()
    holder = psycopg.connect(place.url)
    holder.execute("LOCK TABLE totals IN ACCESS EXCLUSIVE MODE")
    threading.Timer(0.5, holder.close).start()
    with closing(sink.open()) as writer:
        writer.write(given(("a", 1)), CommitId("epoch", "out", 0, 0))
    while not holder.closed:
        time.sleep(0.05)
    assert place.rows() == [("a", 1)]


def test_unreachable_database_is_reported_without_the_password() -> None:
    (port,) = free_ports(1)
    url = f"postgresql://app:s3cr%40t-word@127.0.0.1:{port}/db"
    sink = PostgresTable(
        url, "totals", key=("word",), row=total_row, give_up_after=timedelta(milliseconds=300)
    )
    with pytest.raises(SinkUnavailableError) as caught:
        sink.prepare()
    for text in (str(caught.value), repr(caught.value), repr(sink), sink.label):
        assert "s3cr" not in text
        assert url not in text


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://app:s3cret@[::1/db", "is not a connection string"),
        ("password=s3cret nonsense", "is not a connection string"),
    ],
)
def test_error_of_invalid_url_contains_no_secret(url: str, why: str) -> None:
    sink = PostgresTable(
        url, "totals", key=("word",), row=total_row, give_up_after=timedelta(milliseconds=100)
    )
    with pytest.raises(SinkError, match=why) as caught:
        sink.prepare()
    assert "s3cret" not in str(caught.value)


def test_error_of_wrong_password_contains_no_secret(place: Place) -> None:
    url = place.url.replace("pw-of-tests", "wr0ng-one")
    sink = PostgresTable(
        url, "totals", key=("word",), row=total_row, give_up_after=timedelta(milliseconds=100)
    )
    with pytest.raises(SinkError, match="password authentication failed") as caught:
        sink.prepare()
    assert "wr0ng" not in str(caught.value)


def test_missing_privilege_is_reported(place: Place) -> None:
    place.totals().prepare()
    schema = place.url.rpartition("%3D")[2]
    place.execute(f"CREATE ROLE reader_{schema} LOGIN PASSWORD 'pw-of-tests'")
    place.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader_{schema}")
    place.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader_{schema}")
    reader = Place(place.url.replace("//postgres:", f"//reader_{schema}:"))
    sink = reader.totals()
    sink.prepare()
    with pytest.raises(SinkError, match="permission denied") as caught:
        sink.open().write(given(("a", 1)), CommitId("epoch", "out", 0, 0))
    assert caught.value.code == "42501"
    assert not isinstance(caught.value, SinkUnavailableError)
