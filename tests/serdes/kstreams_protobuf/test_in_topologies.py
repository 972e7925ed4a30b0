"""Messages in topologies: by columns or as objects, with errors that name the record."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    DeadLetter,
    FixedKeyProcessor,
    Record,
    Topic,
    TopologyBuilder,
    key_value_store,
    map_values,
)
from kstreams.aggregators import combine, count, field, over, sum_
from kstreams.durations import milliseconds
from kstreams.errors import DeserializationError
from kstreams.processors import FixedKeyBatchProcessor
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_protobuf import protobuf_serde
from tests.serdes.kstreams_protobuf.money_pb2 import Money
from tests.serdes.kstreams_protobuf.random_messages import messages
from tests.serdes.kstreams_protobuf.shapes_pb2 import Everything
from tests.support.windows.compared_executions import aggregation
from tests.support.windows.windowed_runs import store_for

MONEY = protobuf_serde(Money)
PRICES: Topic[str, Money] = Topic("prices", TEXT, MONEY)
SHAPES: Topic[str, Everything] = Topic("in", TEXT, protobuf_serde(Everything))
HOW = combine(
    count(),
    over(field("an_int32", INT64), sum_(INT64)),
    over(field("a_float", DOUBLE), sum_(DOUBLE)),
    over(field("chosen_number", DOUBLE), sum_(DOUBLE)),
)
TRUNCATED = b"\x0a\x05EU"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from("ab"), messages(Everything), st.integers(0, 30))))
def test_windows_of_messages_give_same_results_by_columns_and_by_records(rows: list[Any]) -> None:
    found = []
    for execution in ("records", "columns"):
        driver, sink = aggregation(SHAPES, HOW, execution)
        with driver:
            driver.pipe_batch(SHAPES, [Record(*row) for row in rows])
            found.append([(r.key, repr(r.value), r.timestamp) for r in driver.read(sink)])
    assert found[0] == found[1]


def test_windows_of_message_field_run_by_columns() -> None:
    windows = TumblingWindows(milliseconds(10))
    builder = TopologyBuilder("t")
    how: Any = combine(count(), over(field("units", INT64), sum_(INT64)))
    supplier: Any = windowed_aggregate(windows, how, store=store_for(windows, how.state))
    node: Any = builder.add_processor("w", supplier, builder.add_source("in", PRICES))
    out: Any = Topic("out", windowed(TEXT, windows), how.state)
    builder.add_sink("out", out, node)
    topology = builder.build()
    assert "execution: columns" in topology.describe()
    with TopologyTestDriver(topology) as driver:
        driver.pipe_batch(PRICES, [Record("k", Money(units=n), n) for n in (1, 2, 13)])
        assert [r.value for r in driver.read(out)] == [(2, 3), (1, 13)]


class Doubled(FixedKeyBatchProcessor[str, Money, Money]):
    """Doubles the units in a column of structs."""

    def process_batch(self, table: pa.Table) -> None:
        values = table.column("value").combine_chunks()
        units = pc.multiply(pc.struct_field(values, "units"), 2)
        made = pa.StructArray.from_arrays(
            [pc.struct_field(values, "currency"), units], ["currency", "units"]
        )
        place = table.schema.get_field_index("value")
        self.context.forward(table.set_column(place, "value", made))


def test_batch_processors_read_and_write_structs() -> None:
    out: Topic[str, Money] = Topic("out", TEXT, MONEY)
    builder = TopologyBuilder("t")
    builder.add_sink(
        "out", out, builder.add_processor("d", Doubled, builder.add_source("in", PRICES))
    )
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(PRICES, [Record("a", Money(currency="EUR", units=4), 1)])
        assert driver.read_values(out) == {"a": Money(currency="EUR", units=8)}


def test_unknown_fields_survive_a_processor_that_returns_the_message() -> None:
    out: Topic[str, Money] = Topic("out", TEXT, MONEY)
    builder = TopologyBuilder("t")
    same = builder.add_processor("m", map_values(lambda v: v), builder.add_source("in", PRICES))
    builder.add_sink("out", out, same)
    with TopologyTestDriver(builder.build()) as driver:
        driver.write_bytes("prices", b"k", b"\x10\x08\x50\x07", timestamp=1)
        driver.run()
        [record] = driver.read(out)
        assert record.value.SerializeToString() == b"\x10\x08\x50\x07"


def test_later_change_of_stored_or_forwarded_message_has_no_effect() -> None:
    totals = key_value_store("totals", key=TEXT, value=MONEY)
    out: Topic[str, Money] = Topic("out", TEXT, MONEY)

    class Keep(FixedKeyProcessor[str, Money, Money]):
        def init(self, context: Any) -> None:
            self.context = context
            self.store = context.store(totals)

        def process(self, record: Record[str, Money]) -> None:
            value = record.value
            self.store.put(record.key, value)
            self.context.forward(record)
            value.units = 99
            kept = self.store.get(record.key)
            assert kept is not None
            assert kept.units == 1
            kept.units = 98

    builder = TopologyBuilder("t")
    node: Any = builder.add_processor("k", Keep, builder.add_source("in", PRICES), stores=[totals])
    builder.add_sink("out", out, node)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(PRICES, [Record("a", Money(units=1), 1)])
        assert driver.read_values(out) == {"a": Money(units=1)}
        assert driver.store(totals).get("a") == Money(units=1)


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_error_of_bad_message_names_record(execution: str) -> None:
    driver, _ = aggregation(PRICES, over(field("units", INT64), sum_(INT64)), execution)
    with driver:
        driver.pipe_batch(PRICES, [Record("k", Money(units=1), 1)])
        driver.write(PRICES, "k", Money(units=1), timestamp=2)
        driver.write_bytes("prices", b"k", TRUNCATED, timestamp=3)
        with pytest.raises(DeserializationError, match="unexpected EOF") as caught:
            driver.run()
    where = caught.value.where
    assert (where.topic, where.partition, where.offset, where.timestamp) == ("prices", 0, 2, 3)


@pytest.mark.parametrize("by_batch", [True, False])
def test_bad_protobuf_messages_become_dead_letters(by_batch: bool) -> None:
    source: Topic[str, Money] = Topic("prices", TEXT, MONEY)
    out: Topic[str, Money] = Topic("out", TEXT, MONEY)
    builder = TopologyBuilder("t")
    entry = builder.add_source("in", source, on_error=DeadLetter("letters"))
    how: Any = Doubled if by_batch else map_values(lambda v: Money(units=v.units * 2))
    builder.add_sink("out", out, builder.add_processor("d", how, entry))
    with TopologyTestDriver(builder.build()) as driver:
        for number, data in enumerate([b"\x10\x04", TRUNCATED, b"", b"\x0a\x01\xff", b"\x10\x06"]):
            driver.write_bytes("prices", b"%d" % number, data, timestamp=number)
        driver.run()
        assert {k: v.units for k, v in driver.read_values(out).items()} == {"0": 4, "2": 0, "4": 6}
        assert driver.dropped == {"dead-letter-DeserializationError": 2}
