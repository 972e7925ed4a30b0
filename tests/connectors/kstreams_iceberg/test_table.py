"""The Iceberg sink: created tables, existing tables, and their rows."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, HourTransform
from pyiceberg.types import IntegerType, NestedField, StringType

from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_iceberg import IcebergTable
from kstreams_iceberg.storage import Storage
from tests.support.sinks.iceberg_catalogs import NAME, catalog_in, opened, rows_of
from tests.support.sinks.lake_contract import Line, Total
from tests.support.sinks.sink_writes import commit_of, given, write

NOON = datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Sale:
    shop: str | None
    day: date | None
    at: datetime
    lines: list[Line]
    extra: dict[str, float]


@dataclass(frozen=True)
class Wider:
    word: str
    total: int
    price: float


@pytest.fixture
def catalog(tmp_path: Path) -> dict[str, str]:
    return catalog_in(tmp_path)


def _row(_: object, value: Any) -> Any:
    return value


def _totals(catalog: dict[str, str], rows: Any = Total, **options: Any) -> IcebergTable[Any, Any]:
    return IcebergTable(NAME, rows, row=_row, catalog=catalog, **options)


def _sales() -> list[Sale]:
    return [
        Sale("a/b=c %é", date(2026, 1, 2), NOON, [Line("x", 1)], {"a": 0.5}),
        Sale(None, None, NOON + timedelta(days=40), [], {}),
        Sale("a/b=c %é", date(2026, 1, 2), NOON, [Line("y", None)], {}),
        Sale("", None, NOON, [], {}),
    ]


def _shown(sale: Sale) -> dict[str, Any]:
    lines = [vars(line) for line in sale.lines]
    return {**vars(sale), "lines": lines, "extra": list(sale.extra.items())}


def test_partitioned_rows_are_read_as_written(catalog: dict[str, str], tmp_path: Path) -> None:
    sink = _totals(catalog, Sale, partition_by=("shop", "day"))
    assert write(sink, given(*((f"k{n}", sale) for n, sale in enumerate(_sales())))) == []
    assert sorted(rows_of(catalog), key=repr) == sorted(map(_shown, _sales()), key=repr)
    assert len(list(tmp_path.rglob("*.parquet"))) == 3


def test_rows_follow_the_current_partition_spec_of_the_table(
    catalog: dict[str, str],
) -> None:
    sink = _totals(catalog, Sale)
    sink.prepare()
    with opened(catalog) as found, found.load_table(NAME).update_spec() as spec:
        spec.add_field("shop", BucketTransform(4))
        spec.add_field("at", DayTransform())
    older = sink.open()
    receipts = older.write(given(("a", _sales()[0]), ("b", _sales()[1])), commit_of(0))
    with opened(catalog) as found, found.load_table(NAME).update_spec() as spec:
        spec.remove_field("at_day")
        spec.add_field("at", HourTransform())
    newer = sink.open().write(given(("c", _sales()[2])), commit_of(0, task=1))
    sink.publish({commit_of(0): receipts, commit_of(0, task=1): newer})
    assert sorted(rows_of(catalog), key=repr) == sorted(map(_shown, _sales()[:3]), key=repr)
    with opened(catalog) as found:
        table = found.load_table(NAME)
        files = table.inspect.files().to_pylist()
        assert sorted(file["spec_id"] for file in files) == [1, 1, 2]
        only = table.scan(row_filter="at >= '2026-02-01T00:00:00+00:00'").to_arrow()
        assert only.num_rows == 1


def test_rows_that_violate_column_types_of_an_existing_table_are_refused(
    catalog: dict[str, str],
) -> None:
    schema = Schema(
        NestedField(1, "word", StringType(), required=True), NestedField(2, "total", IntegerType())
    )
    with opened(catalog) as found:
        found.create_table(NAME, schema)
    rows = [
        Total("a", 1),
        Total("b", 1 << 40),
        {"word": "c", "totals": 1},
        5,
        None,
        {"word": "d"},
        {"total": 1},
    ]
    refused = write(_totals(catalog), given(*((f"k{n}", row) for n, row in enumerate(rows))))
    assert [row.row for row in refused] == [1, 2, 3, 6]
    assert rows_of(catalog) == [{"word": "a", "total": 1}, {"word": "d", "total": None}]


def test_new_column_fails_batch_or_is_added_by_option(catalog: dict[str, str]) -> None:
    write(_totals(catalog), given(("a", Total("a", 1))))
    with pytest.raises(SinkError, match="the table has no column 'price'"):
        _totals(catalog, Wider).prepare()
    older = _totals(catalog).open()
    receipts = older.write(given(("c", Total("c", 3))), commit_of(2))
    write(
        _totals(catalog, Wider, new_columns="add"), given(("b", Wider("b", 2, 0.5))), commit_of(1)
    )
    _totals(catalog).publish({commit_of(2): receipts})
    assert sorted(rows_of(catalog), key=lambda row: str(row["word"])) == [
        {"word": "a", "total": 1, "price": None},
        {"word": "b", "total": 2, "price": 0.5},
        {"word": "c", "total": 3, "price": None},
    ]


def test_batch_published_again_after_its_snapshot_expired_is_not_repeated(
    catalog: dict[str, str],
) -> None:
    sink = _totals(catalog)
    sink.prepare()
    staged = sink.open().write(given(("a", Total("a", 1))), commit_of(0))
    sink.publish({commit_of(0): staged})
    with opened(catalog) as found:
        table = found.load_table(NAME)
        table.append(
            pa.Table.from_pylist([{"word": "z", "total": 0}], schema=table.schema().as_arrow())
        )
        first = table.metadata.snapshots[0]
        assert first.summary is not None
        assert first.summary["kstreams.epoch/out"] == '{"0": 0}'
        table.maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    _totals(catalog).publish({commit_of(0): staged})
    assert sorted(row["word"] for row in rows_of(catalog)) == ["a", "z"]


def test_table_with_another_file_format_is_refused_at_the_start(catalog: dict[str, str]) -> None:
    _totals(catalog).prepare()
    with opened(catalog) as found, found.load_table(NAME).transaction() as change:
        change.set_properties({"write.format.default": "orc"})
    with pytest.raises(SinkError, match="and orc files"):
        _totals(catalog).prepare()


@pytest.mark.parametrize("name", ["totals", "shop.", ".totals", ""])
def test_table_name_without_namespace_is_refused(catalog: dict[str, str], name: str) -> None:
    with pytest.raises(ValueError, match=r"expected namespace\.table"):
        IcebergTable(name, Total, row=_row, catalog=catalog)


def test_missing_table_column_namespace_or_catalog_is_reported_without_the_secret(
    catalog: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="rows= has only the columns"):
        _totals(catalog, partition_by=("day",))
    with pytest.raises(SinkError, match="no namespace"):
        IcebergTable("other.totals", Total, row=_row, catalog=catalog).prepare()
    with pytest.raises(SinkError, match="cannot open the Iceberg catalog"):
        _totals({"type": "s3cret"}).prepare()
    gone = _totals(
        {**catalog, "uri": f"sqlite:///{tmp_path}/no/s3cret.db"}, give_up_after=timedelta(0)
    )
    with pytest.raises(SinkUnavailableError) as told:
        gone.prepare()
    assert "s3cret" not in str(told.value) + repr(gone) + gone.label


def test_iceberg_sink_can_be_pickled_after_use(catalog: dict[str, str]) -> None:
    sink = _totals(catalog)
    write(sink, given(("a", Total("a", 1))))
    again = pickle.loads(pickle.dumps(sink))  # made in this test
    assert set(vars(again)) <= set(IcebergTable.__dataclass_fields__)


def test_request_to_catalog_that_does_not_reply_is_retried(
    catalog: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = Storage.open, [OSError("reset")]

    def fails(storage: Storage) -> Any:
        if left:
            raise left.pop()
        return real(storage)

    monkeypatch.setattr(Storage, "open", fails)
    _totals(catalog).prepare()
    assert left == []
