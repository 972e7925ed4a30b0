"""The app of the crash matrix with its input in a table of PostgreSQL: a row for each record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psycopg

from kstreams import INT64, TEXT, Node, Topic, Topology, TopologyBuilder
from kstreams.operators import map_
from kstreams_postgres import Change, PostgresChanges, changes, rows
from tests.support.crash.marking_app import COUNTS, LAST, MARKS, Mark

__all__ = ("added_words", "changed_words", "insert_words", "marking_rows", "words_log")


@dataclass(frozen=True)
class Word:
    """A row of the table."""

    word: str
    mark: str


def words_log(url: str, slot: str) -> PostgresChanges[int, Word]:
    """Return the log of the table's changes."""
    return changes("words", url, "words", INT64, Word, slot=slot)


def insert_words(url: str, records: Sequence[tuple[str, str]]) -> None:
    """Insert a batch of records, in one transaction."""
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS words (id bigserial PRIMARY KEY, word text, mark text, "
            "at timestamptz DEFAULT now())"
        )
        cursor.executemany("INSERT INTO words (word, mark) VALUES (%s, %s)", records)


def changed_words(builder: TopologyBuilder, url: str, slot: str) -> Node[str, str]:
    """Add the source of the table's changes."""
    return builder.add_processor(
        "keyed", map_(_changed), builder.add_source("words", words_log(url, slot))
    )


def added_words(builder: TopologyBuilder, url: str, _slot: str) -> Node[str, str]:
    """Add the source of the table's rows."""
    log = rows("words", url, "words", INT64, Word, time="at")
    return builder.add_processor("keyed", map_(_added), builder.add_source("words", log))


def marking_rows(
    words: Callable[[TopologyBuilder], Node[str, str]], marks: Topic[str, str]
) -> Topology:
    """Build rows -> keyed -> mark -> marks."""
    builder = TopologyBuilder("marking")
    edge = builder.repartition("by-key", words(builder), key=TEXT, value=TEXT)
    node = builder.add_processor("mark", Mark, edge, stores=[LAST, COUNTS, MARKS])
    builder.add_sink("marks", marks, node)
    return builder.build()


def _changed(_key: int, change: Change[Word]) -> tuple[str, str]:
    assert change.new is not None
    return _added(_key, change.new)


def _added(_key: int, row: Word) -> tuple[str, str]:
    return row.word, row.mark
