"""The Delta sink: created tables, existing tables, and their rows."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_delta import DeltaTable
from kstreams_delta.storage import Storage
from tests.support.sinks.delta_tables import rows_of
from tests.support.sinks.lake_contract import Total
from tests.support.sinks.sink_writes import commit_of, given, write


@dataclass(frozen=True)
class Sale:
    shop: str | None
    day: date | None
    open: bool | None
    number: int | None
    at: datetime
    items: list[str]


@dataclass(frozen=True)
class Wider:
    word: str
    total: int
    price: float


NOON = datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=timezone.utc)


def _row(_: object, value: Any) -> Any:
    return value


def _totals(place: Path, rows: Any = Total, **options: Any) -> DeltaTable[Any, Any]:
    return DeltaTable(str(place), rows, row=_row, **options)


def test_partitioned_rows_are_read_as_written(tmp_path: Path) -> None:
    sink: DeltaTable[str, Any] = DeltaTable(
        str(tmp_path), Sale, row=_row, partition_by=("shop", "day", "open", "number")
    )
    sales = [
        Sale("a/b=c %é", date(2026, 1, 2), True, -5, NOON, ["x"]),
        Sale(None, None, None, None, NOON, []),
        Sale("a/b=c %é", date(2026, 1, 2), True, -5, NOON, ["y"]),
        Sale("__HIVE_DEFAULT_PARTITION__", None, False, 0, NOON, []),
    ]
    refused = write(sink, given(*((f"k{n}", sale) for n, sale in enumerate(sales))))
    assert refused == []
    found = sorted(rows_of(str(tmp_path)), key=repr)
    assert found == sorted((vars(sale) for sale in sales), key=repr)
    assert len(list(tmp_path.glob("*.parquet"))) == 3


def test_row_with_empty_text_as_partition_value_is_refused(tmp_path: Path) -> None:
    sink = _totals(tmp_path, partition_by=("word",))
    refused = write(sink, given(("a", Total("", 1)), ("b", Total("b", 2))))
    assert [(row.row, row.reason.split(",")[0]) for row in refused] == [
        (0, "ValueError: partition column 'word' is an empty text")
    ]
    assert rows_of(str(tmp_path)) == [{"word": "b", "total": 2}]


def test_rows_that_violate_column_types_of_an_existing_table_are_refused(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("word", pa.string()), pa.field("total", pa.int32())])
    deltalake.DeltaTable.create(str(tmp_path), deltalake.Schema.from_arrow(schema))
    rows = [Total("a", 1), Total("b", 1 << 40), {"word": "c", "totals": 1}, 5, None, {"word": "d"}]
    refused = write(_totals(tmp_path), given(*((f"k{n}", row) for n, row in enumerate(rows))))
    assert [row.row for row in refused] == [1, 2, 3]
    assert rows_of(str(tmp_path)) == [{"word": "a", "total": 1}, {"word": "d", "total": None}]


def test_new_column_fails_batch_or_is_added_by_option(tmp_path: Path) -> None:
    write(_totals(tmp_path), given(("a", Total("a", 1))))
    wider = _totals(tmp_path, Wider)
    with pytest.raises(SinkError, match="the table has no column 'price'"):
        wider.prepare()
    older = _totals(tmp_path).open()
    adding = _totals(tmp_path, Wider, new_columns="add")
    write(adding, given(("b", Wider("b", 2, 0.5))), commit_of(1))
    receipts = older.write(given(("c", Total("c", 3))), commit_of(2))
    _totals(tmp_path).publish({commit_of(2): receipts})
    found = sorted(rows_of(str(tmp_path)), key=lambda row: str(row["word"]))
    assert found == [
        {"word": "a", "total": 1, "price": None},
        {"word": "b", "total": 2, "price": 0.5},
        {"word": "c", "total": 3, "price": None},
    ]


def test_constraint_added_while_running_fails_publish(
    tmp_path: Path,
) -> None:
    sink = _totals(tmp_path)
    write(sink, given(("a", Total("a", 1))))
    receipts = sink.open().write(given(("b", Total("b", 2))), commit_of(1))
    table = deltalake.DeltaTable(str(tmp_path))
    table.alter.add_constraint({"small": "total < 2"})
    with pytest.raises(SinkError, match=r"delta\.constraints\.small"):
        sink.publish({commit_of(1): receipts})
    assert rows_of(str(tmp_path)) == [{"word": "a", "total": 1}]


def test_prepare_refuses_a_table_with_other_partition_columns(tmp_path: Path) -> None:
    _totals(tmp_path, partition_by=("word",)).prepare()
    with pytest.raises(SinkError, match=r"'word',\), not by partition_by=\('total',\)"):
        _totals(tmp_path, partition_by=("total",)).prepare()
    _totals(tmp_path).prepare()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"partition_by": ("day",)}, "rows= has only the columns"),
        ({"partition_by": ("word", "total")}, "names all columns of rows="),
        ({"rows": Wider, "partition_by": ("price",)}, "expected a text, integer, bool or date"),
    ],
)
def test_invalid_partition_columns_are_refused(tmp_path: Path, options: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        _totals(tmp_path, **options)


def test_delta_files_have_column_statistics(tmp_path: Path) -> None:
    sink = _totals(tmp_path)
    write(sink, given(("a", Total("tea", 5)), ("b", Total("x" * 50, -1))))
    (found,) = pa.table(deltalake.DeltaTable(str(tmp_path)).get_add_actions()).to_pylist()
    assert (found["num_records"], found["min"]["total"], found["max"]["total"]) == (2, -1, 5)
    assert found["min"].get("word") is None  # long texts are not truncated in statistics


def test_delta_sink_can_be_pickled_after_use_and_shows_no_secret(tmp_path: Path) -> None:
    sink = _totals(tmp_path, options={"secret_access_key": "s3cret"})
    write(sink, given(("a", Total("a", 1))))
    again = pickle.loads(pickle.dumps(sink))  # made in this test
    assert set(vars(again)) <= set(DeltaTable.__dataclass_fields__)
    assert "s3cret" not in repr(sink) + sink.label
    with pytest.raises(ValueError, match="options=") as told:
        DeltaTable("s3://key:s3cret@bucket/table", Total, row=_row)
    assert "s3cret" not in str(told.value)


def test_unavailable_delta_storage_is_reported_without_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Storage) -> None:
        raise OSError("\x1b[31mGeneric S3 error\x1b[0m:\n  no s3cret")

    monkeypatch.setattr(Storage, "open", fails)
    sink = DeltaTable(
        "s3://bucket/table",
        Total,
        row=_row,
        options={"secret_access_key": "s3cret"},
        give_up_after=timedelta(0),
    )
    with pytest.raises(SinkUnavailableError, match=r"Generic S3 error: no \*\*\*"):
        sink.prepare()
