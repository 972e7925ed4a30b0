"""The workload of the matrix with its records in a table of PostgreSQL: a row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.operators import map_
from kstreams_postgres import Change, PostgresChanges, changes
from tests.crash.workload import COUNTS, LAST, MARKS, Mark

__all__ = ("insert_words", "marking_changes", "words_log")


@dataclass(frozen=True)
class Word:
    """A row of the table."""

    word: str
    mark: str


def words_log(url: str, slot: str) -> PostgresChanges[int, Word]:
    """Return the log of the table."""
    return changes("words", url, "words", INT64, Word, slot=slot)


def insert_words(url: str, records: Sequence[tuple[str, str]]) -> None:
    """Insert a batch of records, in one transaction."""
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS words (id bigserial PRIMARY KEY, word text, mark text)"
        )
        cursor.executemany("INSERT INTO words (word, mark) VALUES (%s, %s)", records)


def marking_changes(log: PostgresChanges[int, Word], marks: Topic[str, str]) -> Topology:
    """Build rows -> keyed -> mark -> marks."""
    builder = TopologyBuilder("marking")
    words = builder.add_processor("keyed", map_(_keyed), builder.add_source("words", log))
    edge = builder.repartition("by-key", words, key=TEXT, value=TEXT)
    node = builder.add_processor("mark", Mark, edge, stores=[LAST, COUNTS, MARKS])
    builder.add_sink("marks", marks, node)
    return builder.build()


def _keyed(_key: int, change: Change[Word]) -> tuple[str, str]:
    assert change.new is not None
    return change.new.word, change.new.mark
