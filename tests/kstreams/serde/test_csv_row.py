"""CSV rows: typed, quoted if necessary, and equal for single values and columns."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64, TEXT, Serde, Topic, TopologyBuilder
from kstreams.aggregators import field, over, sum_
from kstreams.durations import seconds
from kstreams.emit import each_update
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import csv_row
from kstreams.stores import window_store
from kstreams.testing import SerdeContract, TopologyTestDriver, WrittenBytes
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

UTC = timezone.utc
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text(
    '",;\r\n\ufeff x', max_size=4
)
int64s = st.integers(-(2**63), 2**63 - 1)


@dataclass(frozen=True)
class Order:
    id: int
    item: str
    price: float | None = None
    note: str | None = None
    paid: bool = False
    day: date | None = None


class Point(NamedTuple):
    x: int
    y: float


class Event(msgspec.Struct):
    name: str
    at: datetime | None


@dataclass
class Positive:
    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise LookupError("negative")


class TestOrders(SerdeContract[Order]):
    recorded_name = "csv[id int, item str, price float?, note str?, paid bool, day date?]"

    def serde(self) -> Serde[Order]:
        return csv_row(Order)

    def values(self) -> Sequence[Order]:
        return [
            Order(1, "tea", 2.5, "", True, date(2024, 1, 2)),
            Order(-(2**63), "", -0.0, None),
            Order(2, 'a, "b"\r\n', math.inf, "\ufeff"),
            Order(3, "", math.nan, "x" * 70_000),
        ]

    def strategy(self) -> st.SearchStrategy[Order]:
        prices = st.none() | st.floats()
        return st.builds(
            Order, int64s, text, prices, st.none() | text, st.booleans(), st.none() | st.dates()
        )

    def wrong_objects(self) -> Sequence[object]:
        return [
            Order("1", ""),  # type: ignore[arg-type]  # invalid on purpose, like the next ones
            Order(True, ""),
            Order(2**63, ""),
            Order(1, None),  # type: ignore[arg-type]  # invalid on purpose
            Order(1, "\ud800"),
            Order(1, "", "1"),  # type: ignore[arg-type]  # invalid on purpose
            Order(1, "", paid=1),  # type: ignore[arg-type]  # invalid on purpose
            Point(1, 2.0),
        ]

    def bad_bytes(self) -> Sequence[bytes]:
        return [
            *(b"", b"1", b"x,tea", b",tea", b"1.5,tea", b"9223372036854775808,tea", b"1,\xff"),
            *(b"1,tea,x", b"1,tea,,,maybe", b"1,tea,,,", b"1,tea,,,true,soon", b'1,"tea'),
            *(b"1,tea,,,true,,7", b"1,tea\n2,milk", b"1,tea\r2,milk"),
        ]

    def written(self) -> Sequence[WrittenBytes[Order]]:
        return [
            WrittenBytes(b"1,tea,,,false,", Order(1, "tea"), golden=True),
            WrittenBytes(b"1,tea", Order(1, "tea")),
            WrittenBytes(b"1,tea,2.5", Order(1, "tea", 2.5)),
            WrittenBytes(b'1,"te,a"', Order(1, "te,a")),
            WrittenBytes(b'1,tea,,""\n', Order(1, "tea", None, "")),
            WrittenBytes(b"007,tea\r\n", Order(7, "tea")),
        ]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {
            "id": pa.int64(),
            "item": pa.string(),
            "price": pa.float64(),
            "paid": pa.bool_(),
            "day": pa.date32(),
        }


class TestNamedTuples(SerdeContract[Point]):
    recorded_name = "csv'\\t'[x int, y float]"

    def serde(self) -> Serde[Point]:
        return csv_row(Point, delimiter="\t")

    def values(self) -> Sequence[Point]:
        return [Point(1, 2.0), Point(-1, 1e300)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"1,2", b"1\t", b"\t1"]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"x": pa.float64(), "y": pa.float64()}


class TestOneColumn(SerdeContract[Positive]):
    def serde(self) -> Serde[Positive]:
        return csv_row(Positive)

    def values(self) -> Sequence[Positive]:
        return [Positive(0), Positive(12)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"-1", b"x"]


class TestTimes(SerdeContract[Event]):
    def serde(self) -> Serde[Event]:
        return csv_row(Event)

    def values(self) -> Sequence[Event]:
        return [Event("a", datetime(2024, 1, 2, 3, 4, 5, 6, UTC)), Event("", None)]

    def same(self, one: object, other: object) -> bool:
        return one == other

    def wrong_objects(self) -> Sequence[object]:
        return [Event("a", datetime(2024, 1, 2))]  # without a time zone

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"a,2024-01-02T03:04:05", b"a,soon"]

    def written(self) -> Sequence[WrittenBytes[Event]]:
        noon = datetime(2024, 1, 2, 12, tzinfo=UTC)
        return [
            WrittenBytes(b"a,2024-01-02T12:00:00+00:00", Event("a", noon), golden=True),
            WrittenBytes(b"a,2024-01-02 12:00:00Z", Event("a", noon)),
        ]


cells = st.sampled_from(
    [
        *("", '""', '"', "x", " ", "1", "-1", "+1", "007", " 1 ", "0x1f", "1_000", "1e3", "\u0661"),
        *("1.5", ".5", "5.", "1e999", "inf", "-Infinity", "nan", "NaN", "nan(1)", "1" * 19, "-0"),
        *("true", "True", "TRUE", "1.0", "false", "0", "yes", "2024-01-02", "2024-1-2", '"1"'),
        *("9" * 400, "1" + "0" * 30, "\ufeff1", "1\ufeff", "a\nb", '"a\nb"', "\r", "\0", "1e-400"),
    ]
)


@pytest.mark.long
@settings(max_examples=300)
@given(st.lists(st.lists(cells, min_size=1, max_size=7).map(",".join), min_size=1, max_size=4))
@example(['1,"a', 'b",2\n3,c'])
@example(['1,"a', 'b"', "\r3,c"])
def test_any_csv_text_is_read_or_rejected_equally_by_all_methods(rows: list[str]) -> None:
    serde: Any = csv_row(Order)
    items = [row.encode() for row in rows]

    def outcome(read: Any) -> object:
        try:
            return repr(read())
        except DeserializationError as exc:
            return exc.message

    column = pa.array(items, pa.binary())
    singly = outcome(lambda: [serde.deserialize(item) for item in items])
    assert outcome(lambda: serde.deserialize_many(column)) == singly


@given(st.lists(st.builds(Order, int64s, text, st.none(), text), max_size=4))
def test_csv_module_reads_written_rows(orders: list[Order]) -> None:
    data = csv_row(Order).serialize_many(orders).to_pylist()
    if sys.version_info < (3, 11):  # its csv module rejects NUL
        assume(not any(b"\0" in row for row in data))
    read = [next(csv.reader(io.StringIO(row.decode(), newline=""))) for row in data]
    assert [(int(r[0]), r[1], r[3]) for r in read] == [(o.id, o.item, o.note) for o in orders]


def test_number_field_of_csv_row_is_read_in_requested_type() -> None:
    serde = csv_row(Point)
    column = serde.to_arrow(pa.array([b"1,2", None, b"3,4.5"]))
    assert serde.field(column, "y", pa.float64()).to_pylist() == [2.0, None, 4.5]
    for name, kind in (("y", pa.int64()), ("x", pa.string())):
        with pytest.raises(DeserializationError, match=f"field '{name}'"):
            serde.field(column, name, kind)


def test_windows_aggregate_fields_of_rows() -> None:
    orders = Topic("orders", key=TEXT, value=csv_row(Order))
    minutes = TumblingWindows(seconds(60))
    sums = Topic("sums", key=windowed(TEXT, minutes), value=DOUBLE)
    builder = TopologyBuilder("revenue")
    source = builder.add_source("orders", orders)
    total = over(field("price", DOUBLE), sum_(DOUBLE))
    store = window_store("revenue", key=TEXT, value=total.state)
    revenue = builder.add_processor(
        "revenue", windowed_aggregate(minutes, total, store=store, emit=each_update()), source
    )
    builder.add_sink("out", sums, revenue)
    topology = builder.build()
    assert "columns" in topology.describe()
    with TopologyTestDriver(topology) as driver:
        for at, price in ((0, 2.5), (1000, 1.5), (61_000, 1.0)):
            driver.pipe(orders, "ann", Order(1, "tea", price), timestamp=at)
        assert [record.value for record in driver.read(sums)] == [2.5, 4.0, 1.0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int, "expected a dataclass, a NamedTuple or a Struct"),
        (
            dataclass(type("Bad", (), {"__annotations__": {"x": list[int]}})),
            "csv_row does not support",
        ),
        (
            dataclass(type("Bad", (), {"__annotations__": {"x": int | str}})),
            "csv_row does not support",
        ),
    ],
    ids=["no fields", "a list", "a union"],
)
def test_field_type_without_column_form_fails_at_the_call(kind: type, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        csv_row(kind)


@pytest.mark.parametrize("delimiter", ["", '"', "\n", "::", "€"])
def test_invalid_delimiter_fails_at_the_call(delimiter: str) -> None:
    with pytest.raises(ValueError, match="expected one ASCII character"):
        csv_row(Point, delimiter=delimiter)


def test_csv_times_of_any_time_zone_are_read_as_same_instant() -> None:
    serde = csv_row(Event)
    there = datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    assert serde.serialize(Event("a", there)) == b"a,2024-01-02T01:00:00+00:00"
    assert serde.deserialize(serde.serialize(Event("a", there))).at == there
    with pytest.raises(SerializationError, match="with a time zone"):
        serde.serialize(Event("a", there.replace(tzinfo=None)))


def test_integer_columns_of_csv_rows_are_summed_by_columns() -> None:
    assert csv_row(Point).field(
        csv_row(Point).to_arrow(pa.array([b"1,2"])), "x", INT64.arrow_type
    ).to_pylist() == [1]
