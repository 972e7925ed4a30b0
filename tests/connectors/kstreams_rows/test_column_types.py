"""Columns of a row type, and tables that accept them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from kstreams.errors import SinkError
from kstreams_rows.column_types import ToColumns, check_columns, schema_of


@dataclass(frozen=True)
class Line:
    item: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Order:
    id: str
    day: date
    at: datetime
    price: float
    paid: bool
    raw: bytes | None
    lines: Sequence[Line]
    tags: tuple[str, ...]
    extra: Mapping[str, float | None]


LINE = pa.struct([pa.field("item", pa.string(), nullable=False), pa.field("count", pa.int64())])
ORDER = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        pa.field("at", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("price", pa.float64(), nullable=False),
        pa.field("paid", pa.bool_(), nullable=False),
        pa.field("raw", pa.binary()),
        pa.field("lines", pa.list_(pa.field("element", LINE, nullable=False)), nullable=False),
        pa.field(
            "tags", pa.list_(pa.field("element", pa.string(), nullable=False)), nullable=False
        ),
        pa.field("extra", pa.map_(pa.string(), pa.field("value", pa.float64())), nullable=False),
    ]
)


def test_schema_of_dataclass_has_a_column_for_each_field() -> None:
    assert schema_of(Order) == ORDER
    assert schema_of(ORDER) is ORDER


@dataclass
class Money:
    amount: Decimal


@dataclass
class Either:
    value: int | str


@dataclass
class Nothing:
    pass


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (Money, "field 'amount' of Money"),
        (Either, "field 'value' of Either"),
        (Nothing, "needs columns"),
        (int, "expected a dataclass"),
        (pa.schema([("a", pa.int8()), ("a", pa.int8())]), "different names"),
    ],
)
def test_schema_of_type_without_columns_is_refused(rows: type, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        schema_of(rows)


def test_rows_may_be_objects_or_mappings() -> None:
    line = Line("tea", 2)
    assert ToColumns(schema_of(Line))(line) == {"item": "tea", "count": 2}
    nested = pa.schema([pa.field("line", LINE)])
    assert ToColumns(nested)({"line": 1}) == {"line": 1}

    @dataclass
    class Outer:
        line: Line

    assert ToColumns(nested)(Outer(line)) == {"line": {"item": "tea", "count": 2}}
    for wrong in (5, ("tea", 2), Line):
        with pytest.raises(TypeError, match="a mapping or a dataclass"):
            ToColumns(nested)(wrong)


def test_check_columns_accepts_other_integer_widths_and_additional_columns() -> None:
    table = pa.schema(
        [
            pa.field("item", pa.large_string()),
            pa.field("count", pa.int8(), nullable=False),
            pa.field("more", pa.date32()),
        ]
    )
    check_columns(schema_of(Line), table, "t")


def test_check_columns_reports_all_problems_in_one_error() -> None:
    table = pa.schema(
        [
            pa.field("count", pa.string()),
            pa.field("must", pa.date32(), nullable=False),
        ]
    )
    with pytest.raises(SinkError) as told:
        check_columns(schema_of(Line), table, "t")
    assert str(told.value).splitlines()[0] == (
        "table t cannot store the rows: the table has no column 'item'; column 'count' is string, "
        "but int64 in the rows; column 'must' needs a value, but the rows lack the column"
    )


@pytest.mark.parametrize(
    ("own", "has", "fits"),
    [
        (pa.list_(pa.int64()), pa.list_(pa.int32()), True),
        (pa.list_(pa.int64()), pa.list_(pa.string()), False),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.int8()), True),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.string()), False),
        (pa.struct([("a", pa.int64())]), pa.struct([("b", pa.int8()), ("a", pa.int8())]), True),
        (pa.struct([("a", pa.int64())]), pa.struct([("b", pa.int8())]), False),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), False),
        (pa.int64(), pa.float64(), False),
        (pa.decimal128(9, 2), pa.decimal128(20, 4), True),
        (pa.time32("s"), pa.time32("s"), False),
    ],
)
def test_check_columns_accepts_types_of_same_kind(
    own: pa.DataType, has: pa.DataType, fits: bool
) -> None:
    try:
        check_columns(pa.schema([("a", own)]), pa.schema([("a", has)]), "t")
    except SinkError:
        assert not fits
    else:
        assert fits
