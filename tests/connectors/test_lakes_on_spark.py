"""Tables of the Delta and Iceberg sinks are read by the libraries for Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from kstreams_delta import DeltaTable
from kstreams_iceberg import IcebergTable
from tests.connectors.lakes_on_spark import NO_JARS
from tests.support.sinks.iceberg_catalogs import NAME, catalog_in
from tests.support.sinks.lake_contract import Line
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = [pytest.mark.connectors, pytest.mark.slow, pytest.mark.timeout(300)]
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Sale:
    shop: str | None
    day: date
    at: datetime
    price: float
    paid: bool
    lines: list[Line]
    extra: dict[str, int]


NOON = datetime(2026, 1, 1, 12, 0, 0, 5_000, tzinfo=timezone.utc)
SALES = [
    Sale("é/b=c %", date(2026, 1, 2), NOON, 0.5, True, [Line("tea", 2)], {"a": 1}),
    Sale(None, date(1969, 1, 2), NOON, -1.5, False, [], {}),
    Sale("shop", date(2026, 1, 2), NOON, 1e300, True, [Line("milk", None)], {}),
]
AT = "2026-01-01T12:00:00.005Z"
ROWS = [
    {"day": "1969-01-02", "at": AT, "price": -1.5, "paid": False, "lines": [], "extra": {}},
    {
        "shop": "shop",
        "day": "2026-01-02",
        "at": AT,
        "price": 1e300,
        "paid": True,
        "lines": [{"item": "milk"}],
        "extra": {},
    },
    {
        "shop": "é/b=c %",
        "day": "2026-01-02",
        "at": AT,
        "price": 0.5,
        "paid": True,
        "lines": [{"item": "tea", "count": 2}],
        "extra": {"a": 1},
    },
]
"""Rows as Spark writes them, without null values."""


def test_spark_reads_partitioned_delta_and_iceberg_tables_with_all_types(tmp_path: Path) -> None:
    catalog = catalog_in(tmp_path)
    divided = ("shop", "day")
    delta: DeltaTable[str, Sale] = DeltaTable(
        str(tmp_path / "delta"), Sale, row=_row, partition_by=divided
    )
    iceberg: IcebergTable[str, Sale] = IcebergTable(
        NAME, Sale, row=_row, catalog=catalog, partition_by=divided
    )
    for sink in (delta, iceberg):
        write(sink, given(("a", SALES[0]), ("b", SALES[1])))
        write(sink, given(("c", SALES[2])), commit_of(1))
    done = subprocess.run(
        [
            sys.executable,
            *("-m", "tests.connectors.lakes_on_spark"),
            *(str(tmp_path / "delta"), str(tmp_path / "catalog.db"), NAME),
        ],
        cwd=_ROOT,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NO_JARS:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr[-4_000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: [json.loads(row) for row in rows] for name, rows in found.items()} == {
        "delta": ROWS,
        "iceberg": ROWS,
    }


def _row(_: str, sale: Sale) -> Sale:
    return sale
