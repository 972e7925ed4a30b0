"""The app of the kill tests with additional results in PostgreSQL.

Run it by `python -m tests.kill.postgres_app FOLDER`, as `tests.kill.counting_app`;
`KILL_POSTGRES` has the address.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kstreams import Topology
from kstreams_postgres import PostgresTable
from tests.kill.counting_app import counting, main

__all__ = ("ADDRESS", "TABLES", "build")

ADDRESS = "KILL_POSTGRES"
TABLES = (
    "CREATE TABLE results (word text, total bigint)",
    "CREATE TABLE totals (word text PRIMARY KEY, total bigint)",
    "CREATE TABLE writes (word text, total bigint)",
    (
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN INSERT INTO writes VALUES (NEW.word, NEW.total); RETURN NEW; END $$"
    ),
    "CREATE TRIGGER note AFTER INSERT OR UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION note()",
)
"""Tables of results:

one row for each result, visible after the commit; the last result of each word, visible when
written; and every row ever written to the second table.
"""


def result_row(word: str, total: int) -> Mapping[str, object]:
    return {"word": word, "total": total}


def total_row(_word: str, total: int) -> Mapping[str, object]:
    return {"total": total}


def build(name: str) -> Topology:
    url = os.environ[ADDRESS]
    builder, _, counts = counting(name)
    builder.add_sink("results", PostgresTable(url, "results", key=(), row=result_row), counts)
    builder.add_sink("rows", PostgresTable(url, "totals", key=("word",), row=total_row), counts)
    return builder.build()


if __name__ == "__main__":
    main(build)
