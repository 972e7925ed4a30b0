"""The choice of columns for operators with functions of `columns`, with reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from kstreams import BYTES, DOUBLE, INT64, TEXT, FixedKeyProcessor, Record, Topic, TopologyBuilder
from kstreams.aggregators import fold, over, sum_
from kstreams.errors import ProcessingError
from kstreams.operators import aggregate, columns, filter_, map_values, peek, rekey
from kstreams.stores import timestamped_store
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde


@dataclass(frozen=True)
class Order:
    """A value."""

    user: str
    price: float
    amount: Decimal


class Own(FixedKeyProcessor[Any, Any, Any]):
    """A processor of the user's."""

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


ORDERS: Topic[bytes, Order] = Topic("orders", BYTES, json_serde(Order))
OUT: Topic[bytes, Order] = Topic("out", BYTES, json_serde(Order))
DEAR: Callable[[Order], bool] = columns(lambda order: order.price > 1)
LARGE: Callable[[Order], bool] = columns(lambda order: order.amount > 1)
DOUBLED: Callable[[Order], Any] = columns(lambda order: order.amount * 2)
IS_ONE: Callable[[Any], bool] = columns(lambda value: value == 1)
NEXT: Callable[[int], int] = lambda number: number + 1  # noqa: E731
ABOVE_ONE: Callable[[int], bool] = columns(lambda number: number > 1)
INVERSE: Callable[[int], float] = columns(lambda number: 1 / number)
TIMES_FOUR: Callable[[int], int] = columns(lambda number: number * 4)
HALF: Callable[[int], int] = columns(lambda number: number // 2)
DIGIT: Callable[[int], int] = columns(lambda number: number % 10)
PRICE: Callable[[Order], float] = columns(lambda order: order.price)


def started(topic: Topic[Any, Any] = ORDERS, **options: Any) -> tuple[Any, Any]:
    builder: Any = TopologyBuilder("t")
    return builder, builder.add_source("orders", topic, **options)


def executions(builder: Any) -> dict[str, str]:
    """Return the execution of each node, and the reason."""
    found, name = {}, ""
    for line in builder.build().describe().splitlines():
        if line.strip().startswith("Processor: "):
            name = line.strip().split()[1]
        if line.strip().startswith("execution: "):
            found[name] = line.strip().removeprefix("execution: ")
    return found


def test_operators_and_aggregation_after_a_source_run_by_columns() -> None:
    builder, node = started()
    total: Any = over(PRICE, sum_(DOUBLE))
    node = builder.add_processor("dear", filter_(DEAR), node)
    store: Any = timestamped_store("sums", key=BYTES, value=total.state)
    node = builder.add_processor("sum", aggregate(total, store=store), node)
    builder.add_sink("out", Topic("sums", BYTES, DOUBLE), node)
    assert executions(builder) == {"dear": "columns", "sum": "columns"}


def test_operator_before_a_processor_by_records_runs_by_records() -> None:
    builder, node = started()
    node = builder.add_processor("dear", filter_(DEAR), node)
    builder.add_sink("out", OUT, builder.add_processor("own", Own, node))
    assert executions(builder) == {"dear": "records (node 'own' below it runs by records)"}


def test_operator_before_an_aggregation_by_records_has_its_reason_for_records() -> None:
    builder, node = started()
    node = builder.add_processor("dear", filter_(DEAR), node)
    longest: Any = fold(INT64, lambda: 0, lambda state, _: state + 1)
    store: Any = timestamped_store("folds", key=BYTES, value=INT64)
    node = builder.add_processor("fold", aggregate(longest, store=store), node)
    builder.add_sink("out", Topic("folds", BYTES, INT64), node)
    reason = "the aggregator 'fold' has no column form"
    assert executions(builder) == {
        "dear": f"records (node 'fold' below it runs by records: {reason})",
        "fold": f"records (operator 'dear' above it runs by records: node 'fold' below it runs by "
        f"records: {reason})",
    }


def test_aggregation_that_must_run_by_records_keeps_operators_before_it_on_records() -> None:
    builder, node = started()
    total: Any = over(PRICE, sum_(DOUBLE))
    node = builder.add_processor("dear", filter_(DEAR), node)
    store: Any = timestamped_store("sums", key=BYTES, value=total.state)
    node = builder.add_processor("sum", aggregate(total, store=store, execution="records"), node)
    builder.add_sink("out", Topic("sums", BYTES, DOUBLE), node)
    found = executions(builder)
    assert found["dear"] == "records (node 'sum' below it runs by records: execution='records')"


def test_field_of_unsupported_type_is_the_reason_for_records() -> None:
    builder, node = started()
    node = builder.add_processor("some", filter_(LARGE), node)
    builder.add_sink("out", OUT, node)
    assert executions(builder) == {
        "some": "records (the type of field 'amount' of json[Order] is not known to be int, "
        "float, bool or str)"
    }


def test_aggregator_of_a_field_of_unsupported_type_is_the_reason_for_records() -> None:
    builder, node = started()
    total: Any = over(DOUBLED, sum_(INT64))
    store: Any = timestamped_store("sums", key=BYTES, value=INT64)
    node = builder.add_processor("sum", aggregate(total, store=store), node)
    builder.add_sink("out", Topic("sums", BYTES, INT64), node)
    assert "the type of field 'amount' of json[Order] is not known" in executions(builder)["sum"]


def test_operator_with_two_sources_of_different_serdes_runs_by_records() -> None:
    builder, node = started()
    other = builder.add_source("other", Topic("other", BYTES, TEXT))
    node = builder.add_processor("dear", filter_(IS_ONE), node, other)
    builder.add_sink("out", OUT, node)
    assert executions(builder)["dear"] == (
        "records (its sources 'orders' and 'other' have different serdes)"
    )


def test_source_that_continues_after_failures_keeps_operators_on_records() -> None:
    builder, node = started(on_error="skip")
    builder.add_sink("out", OUT, builder.add_processor("dear", filter_(DEAR), node))
    assert "continues after failed records" in executions(builder)["dear"]


def test_operator_whose_child_has_another_parent_runs_by_records() -> None:
    builder, node = started()
    dear = builder.add_processor("dear", filter_(DEAR), node)
    both = builder.add_processor("both", filter_(DEAR), dear, node)
    builder.add_sink("out", OUT, both)
    found = executions(builder)
    assert found["dear"] == "records (node 'both' below it also gets records from other nodes)"


def test_operator_after_a_lambda_reads_objects_and_describe_has_the_reason() -> None:
    builder, node = started(Topic("numbers", TEXT, INT64))
    node = builder.add_processor("more", map_values(NEXT), node)
    node = builder.add_processor("some", filter_(ABOVE_ONE), node)
    builder.add_sink("out", Topic("more", TEXT, INT64), node)
    assert executions(builder) == {
        "more": "columns",
        "some": "columns (its records are decoded to objects: it is below processor 'more', "
        "rather than directly below a source)",
    }


def test_lambda_after_an_operator_gets_the_objects() -> None:
    topic: Topic[bytes, str] = Topic("texts", BYTES, TEXT)
    builder, node = started()
    node = builder.add_processor("dear", filter_(DEAR), node)
    node = builder.add_processor("text", map_values(str), node)
    builder.add_sink("out", topic, node)
    assert executions(builder) == {"dear": "columns", "text": "columns"}
    with TopologyTestDriver(builder.build()) as driver:
        order = Order("ann", 2.5, Decimal(1))
        driver.pipe(ORDERS, b"k", order, timestamp=0)
        driver.pipe(ORDERS, b"l", Order("bob", 0.5, Decimal(1)), timestamp=0)
        assert driver.read_values(topic) == {b"k": str(order)}


def test_peek_after_an_operator_keeps_it_on_records() -> None:
    builder, node = started()
    node = builder.add_processor("dear", filter_(DEAR), node)
    builder.add_sink("out", OUT, builder.add_processor("peek", peek(print), node))
    assert executions(builder)["dear"].startswith("records (node 'peek'")


def test_failing_function_names_the_record() -> None:
    topic: Topic[str, float] = Topic("out", TEXT, DOUBLE)
    builder, node = started(Topic("numbers", TEXT, INT64))
    node = builder.add_processor("half", map_values(INVERSE), node)
    builder.add_sink("out", topic, node)
    assert executions(builder) == {"half": "columns"}
    numbers: Topic[str, int] = Topic("numbers", TEXT, INT64)
    with TopologyTestDriver(builder.build()) as driver:
        driver.write(numbers, "a", 1, timestamp=1)
        driver.write(numbers, "b", 0, timestamp=2)
        with pytest.raises(ProcessingError, match="ZeroDivisionError") as raised:
            driver.run()
    where = raised.value.where
    assert (where.node, where.key, where.offset, where.timestamp) == ("half", "b", 1, 2)


def test_integers_beyond_int64_pass_through_operators_as_python_integers() -> None:
    topic: Topic[str, str] = Topic("out", TEXT, TEXT)
    numbers: Topic[str, int] = Topic("numbers", TEXT, INT64)
    builder, node = started(numbers)
    node = builder.add_processor("more", map_values(TIMES_FOUR), node)
    node = builder.add_processor("half", map_values(HALF), node)
    node = builder.add_processor("key", rekey(DIGIT), node)
    node = builder.repartition("edge", node, key=INT64, value=json_serde(int))
    node = builder.add_processor("text", map_values(str), node)
    builder.add_sink("out", Topic("out", INT64, TEXT), node)
    assert set(executions(builder).values()) == {"columns"}
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(numbers, "a", 1 << 62, timestamp=1)
        (row,) = driver.read_rows(topic.name)
    assert row.value == str(1 << 63).encode()
