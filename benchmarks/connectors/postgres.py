"""PostgreSQL as a sink: rows per second of one task, and the cost of a small batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime, timezone
from functools import partial
from typing import Any

import psycopg

from benchmarks.measured import Times
from devtools.servers.postgres import PostgresServer, new_schema
from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, filter_
from kstreams.sinks import CommitId
from kstreams.testing import TopologyTestDriver
from kstreams_postgres import PostgresTable
from kstreams_testing.sink import GivenResults

__all__ = ("rates", "small_batches")

TABLE = "CREATE TABLE totals (word text PRIMARY KEY, total bigint, price float8, at timestamptz)"
LIST = "CREATE TABLE list (word text, total bigint, price float8, at timestamptz)"
AT = datetime(2026, 1, 1, tzinfo=timezone.utc)
WORDS = Topic("words", key=TEXT, value=INT64)
_SMALL = 200


def columns(_word: str, total: int) -> Mapping[str, object]:
    """Make the columns of a row, without the key."""
    return {"total": total, "price": total * 1.5, "at": AT}


def appended(word: str, total: int) -> Mapping[str, object]:
    """Make a row of a table without a primary key."""
    return {"word": word, **columns(word, total)}


def rates(server: PostgresServer, count: int, rounds: int) -> Iterator[tuple[str, float]]:
    """Yield rows per second of each write mode (best round); rounds after the first update rows."""
    url = new_schema(server.url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLE)
        connection.execute(LIST)
        yield "one statement a row, no fence", _by_statements(connection, count, rounds)
    upserts: partial[PostgresTable[str, int]] = partial(
        PostgresTable, url, "totals", key=("word",), row=columns
    )
    yield "upserts, at the write", _rate(upserts(), count, rounds)
    yield "upserts, at the commit", _rate(upserts(visible="at-commit"), count, rounds)
    appends: PostgresTable[str, int] = PostgresTable(url, "list", key=(), row=appended)
    yield "appends, at the commit", _rate(appends, count, rounds)


def _rate(sink: PostgresTable[str, int], count: int, rounds: int) -> float:
    sink.prepare()
    times = Times()
    with closing(sink.open()) as writer:
        for batch in range(rounds):
            results = GivenResults(
                [Record(f"word-{n}", n + batch, 1_000 + n) for n in range(count)]
            )
            commit = CommitId(repr(sink), "out", 0, batch)
            with times:
                receipts = writer.write(results, commit)
                if receipts:
                    sink.publish({commit: receipts})
    return count / min(times.wall)


def _by_statements(connection: psycopg.Connection[Any], count: int, rounds: int) -> float:
    times = Times()
    statement = (
        "INSERT INTO totals VALUES (%s, %s, %s, %s) ON CONFLICT (word) DO UPDATE "
        "SET total = excluded.total, price = excluded.price, at = excluded.at"
    )
    for batch in range(rounds):
        rows = [(f"word-{n}", n + batch, n * 1.5, AT) for n in range(count // 10)]
        with times, connection.transaction(), connection.cursor() as cursor:
            for row in rows:
                cursor.execute(statement, row, prepare=True)
    return (count // 10) / min(times.wall)


def small_batches(server: PostgresServer) -> Iterator[tuple[str, float]]:
    """Yield the ms of a batch in the test driver: without results, and with one result."""
    url = new_schema(server.url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLE)
    table: PostgresTable[str, int] = PostgresTable(url, "totals", key=("word",), row=columns)
    for name, passes in (("no row", False), ("one row", True)):
        bare = _batch_ms(None, passes=passes)
        yield f"a batch of {name}: to a topic", bare
        yield f"a batch of {name}: and to PostgreSQL", _batch_ms(table, passes=passes)


def _batch_ms(table: PostgresTable[str, int] | None, *, passes: bool) -> float:
    builder = TopologyBuilder("small")
    words = builder.add_source("words", WORDS)
    kept = builder.add_processor("keep", filter_(lambda _, number: passes or number < 0), words)
    builder.add_sink("out", Topic("out", key=TEXT, value=INT64), kept)
    if table is not None:
        builder.add_sink("rows", table, kept)
    times = Times()
    with TopologyTestDriver(builder.build(), real_sinks=True) as driver:
        for number in range(_SMALL):
            with times:
                driver.pipe(WORDS, "a", number, timestamp=number)
    return 1000 * sorted(times.wall)[_SMALL // 2]
