"""Rows become columns, except for rows that violate the schema."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from kstreams_rows.columnar import columnar

SCHEMA = pa.schema(
    [
        pa.field("n", pa.int8(), nullable=False),
        pa.field("at", pa.timestamp("us", "UTC")),
    ]
)
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def test_invalid_rows_among_many_are_refused() -> None:
    rows: list[dict[str, Any]] = [{"n": n % 100, "at": NOON} for n in range(1_000)]
    rows[3] = {"n": 1_000}
    rows[400] = {"at": NOON}
    rows[500] = {"n": 1, "at": NOON.replace(tzinfo=None)}
    rows[999] = {"n": 1, "more": 1}
    table, refused = columnar(rows, SCHEMA)
    assert sorted(refused) == [3, 400, 500, 999]
    assert "has no time zone" in refused[500]
    assert "unknown column 'more', expected only n, at" in refused[999]
    assert table["n"].to_pylist() == [n % 100 for n in range(1_000) if n not in (3, 400, 500, 999)]


def test_batch_without_a_valid_row_is_an_empty_table() -> None:
    table, refused = columnar([{"n": None}], SCHEMA)
    assert (table.num_rows, table.schema, list(refused)) == (0, SCHEMA, [0])
