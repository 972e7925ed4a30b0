"""Values with struct columns pass nodes unchanged, and their fields are read on demand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import combine, count, field, over, sum_
from kstreams.durations import milliseconds
from kstreams.emit import each_update
from kstreams.errors import DeserializationError
from kstreams.joins import left, within
from kstreams.processors import BatchProcessor
from kstreams.processors.columns import Execution
from kstreams.serde.carried import carried, carried_fields, carried_objects, stays_bytes
from kstreams.stores import join_store, timestamped_store
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_function
from kstreams.windows import SessionWindows, TumblingWindows, split_late, windowed_aggregate
from tests.kstreams.serde.struct_serde import POINTS, Point, PointSerde
from tests.support.windows.compared_executions import aggregation
from tests.support.windows.windowed_runs import store_for

SOURCE: Topic[str, Point] = Topic("in", TEXT, POINTS)
BOTH: tuple[Execution, ...] = ("records", "columns")
SUMS = combine(count(), over(field("x", INT64), sum_(INT64)), over(field("y", INT64), sum_(INT64)))


def test_struct_column_stays_bytes_between_nodes_and_number_column_has_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = POINTS.serialize_many([Point(1, 2, b"more"), None])
    assert stays_bytes(POINTS)
    assert carried(POINTS, data) is data
    assert carried_objects(POINTS, data) == [Point(1, 2, b"more"), None]
    assert carried_fields(POINTS, data).to_pylist() == [{"x": 1, "y": 2}, None]
    assert POINTS.from_arrow(data) == data
    assert carried_objects(POINTS, pa.nulls(2)) == [None, None]
    monkeypatch.setattr(PointSerde, "decodes_fields", True)
    assert carried_fields(POINTS, data) is data
    numbers = INT64.serialize_many([5])
    assert not stays_bytes(INT64)
    assert carried(INT64, numbers).to_pylist() == [5]
    assert carried_fields(INT64, carried(INT64, numbers)).to_pylist() == [5]


def test_windows_aggregate_fields_of_structs() -> None:
    for execution in BOTH:
        driver, sink = aggregation(SOURCE, SUMS, execution)
        with driver:
            driver.pipe_batch(
                SOURCE, [Record("k", Point(n, -n, b"rest"), n) for n in (1, 2, 11, 12)]
            )
            assert [r.value for r in driver.read(sink)] == [(2, 3, -3), (2, 23, -23)]


def test_session_windows_with_late_records_use_objects_instead_of_structs() -> None:
    windows = SessionWindows(milliseconds(5), grace=milliseconds(0))
    found = []
    for execution in BOTH:
        builder = TopologyBuilder("sessions")
        seen: list[Any] = []
        late_ones: list[Any] = []
        supplier: Any = windowed_aggregate(
            windows,
            over(field("x", INT64), sum_(INT64)),
            store=store_for(windows, INT64),
            execution=execution,
            emit=each_update(),
        )
        source: Any = builder.add_source("in", SOURCE)
        results, late = split_late(builder, "w", supplier, source)
        builder.add_sink("seen", to_function(seen.append), results)
        builder.add_sink("late", to_function(late_ones.append), late)
        with TopologyTestDriver(builder.build()) as driver:
            times = (1, 3, 30, 2, 31)
            driver.pipe_batch(SOURCE, [Record("k", Point(t, 0, b"!"), t) for t in times])
        assert [each.value.value for each in late_ones] == [Point(2, 0, b"!")]
        found.append((seen, late_ones))
    assert found[0] == found[1]


@pytest.mark.parametrize("execution", BOTH)
def test_joins_receive_complete_objects_of_struct_columns(execution: Execution) -> None:
    builder = TopologyBuilder("join")
    other: Topic[str, Point] = Topic("other", TEXT, POINTS)
    seen: list[Any] = []
    one, two = builder.add_source("in", SOURCE), builder.add_source("other", other)
    joiner: Any = left(lambda a, b: (a, b))
    joined: Any = builder.join_streams(
        "j",
        one,
        two,
        joiner,
        within=within(milliseconds(5), grace=milliseconds(0)),
        store=join_store("s", key=TEXT, left=POINTS, right=POINTS),
        execution=execution,
    )
    builder.add_sink("seen", to_function(lambda record: seen.append(record.value)), joined)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(SOURCE, "k", Point(1, 1, b"a"), timestamp=1)
        driver.pipe(other, "k", Point(2, 2, b"b"), timestamp=2)
    assert seen == [(Point(1, 1, b"a"), Point(2, 2, b"b"))]


@pytest.mark.parametrize("execution", BOTH)
def test_global_join_forwards_keys_as_objects(execution: Execution) -> None:
    names: Topic[str, str] = Topic("names", TEXT, TEXT)
    points: Topic[Point, str] = Topic("points", POINTS, TEXT)
    seen: list[Any] = []
    builder = TopologyBuilder("global")
    table = builder.add_global_table(
        "names", names, store=timestamped_store("t", key=TEXT, value=TEXT)
    )
    source = builder.add_source("points", points)
    joined: Any = builder.join_global(
        "j", source, table, left(lambda a, b: a), by=lambda key, value: value, execution=execution
    )
    builder.add_sink("seen", to_function(seen.append), joined)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(points, Point(1, 2, b"x"), "ann", timestamp=1)
    assert [record.key for record in seen] == [Point(1, 2, b"x")]


def test_error_of_invalid_value_names_its_record() -> None:
    for execution in BOTH:
        driver, _ = aggregation(SOURCE, SUMS, execution)
        with driver:
            driver.write(SOURCE, "k", Point(1, 1), timestamp=1)
            driver.write_bytes("in", b"k", b"short", timestamp=2)
            with pytest.raises(DeserializationError, match="got less") as caught:
                driver.run()
        where = caught.value.where
        assert (where.node, where.topic, where.partition) == ("w", "in", 0)
        assert (where.offset, where.timestamp) == (1, 2)


def test_batch_processors_receive_struct_columns() -> None:
    tables: list[pa.Table] = []

    class Keep(BatchProcessor[str, Point, str, Point]):
        def init(self, context: Any) -> None:
            self._context = context

        def process_batch(self, table: pa.Table) -> None:
            tables.append(table)

    builder = TopologyBuilder("batch")
    builder.add_processor("keep", Keep, builder.add_source("in", SOURCE))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(SOURCE, "k", Point(1, 2), timestamp=1)
    assert tables[0].column("value").to_pylist() == [{"x": 1, "y": 2}]


def test_count_by_records_does_not_decode_structs() -> None:
    driver, sink = aggregation(SOURCE, count(), "records")
    with driver:
        driver.write_bytes("in", b"k", b"short", timestamp=1)
        driver.run()
        assert [r.value for r in driver.read(sink)] == [1]


def test_windows_run_by_columns_by_default() -> None:
    windows = TumblingWindows(milliseconds(10))
    builder = TopologyBuilder("auto")
    supplier: Any = windowed_aggregate(windows, SUMS, store=store_for(windows, SUMS.state))
    builder.add_processor("w", supplier, builder.add_source("in", SOURCE))
    assert "columns" in builder.build().describe()
