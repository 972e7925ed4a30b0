"""Cogroup: one table, changed by several inputs with a function each."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    Record,
    Topic,
    TopologyBuilder,
    key_value_store,
    map_values,
    rekey,
    timestamped_store,
)
from kstreams.durations import milliseconds
from kstreams.emit import each_update, once_per_batch
from kstreams.errors import TopologyError
from kstreams.joins import inner
from kstreams.testing import TopologyTestDriver
from kstreams.topology import feed

_WITH_NULL_KEYS: Any = Topic("paid", TEXT, INT64, null_keys="pass")
PAID: Topic[str, int] = _WITH_NULL_KEYS
SHIPPED = Topic("shipped", TEXT, TEXT, nulls="pass")
ORDERS = Topic("orders", TEXT, TEXT, nulls="pass")
STATE = timestamped_store("orders", key=TEXT, value=TEXT)


def on_payment(old: str | None, record: Record[str, int]) -> str:
    return f"{old or ''}{record.value}"


def on_shipment(old: str | None, record: Record[str, str | None]) -> str | None:
    return None if record.value is None else f"{old or ''}{record.value}"


def orders(*, ttl_ms: int | None = None) -> TopologyBuilder:
    builder = TopologyBuilder("orders", on_error="skip")
    paid = builder.add_source("paid", PAID)
    shipped = builder.add_source("shipped", SHIPPED)
    table = builder.cogroup(
        "order",
        feed(paid, on_payment),
        feed(shipped, on_shipment),
        store=STATE,
        ttl=None if ttl_ms is None else milliseconds(ttl_ms),
    )
    changes = builder.to_stream("changes", table, emit=each_update())
    builder.add_sink("out", ORDERS, changes)
    return builder


def shown(driver: TopologyTestDriver) -> list[tuple[str, str | None, int]]:
    return [(row.key, row.value, row.timestamp) for row in driver.read(ORDERS)]


@pytest.mark.parametrize("recreate", [False, True])
def test_cogroup_updates_table_from_each_input(recreate: bool) -> None:
    with TopologyTestDriver(orders().build(), recreate_processors=recreate) as driver:
        driver.pipe(PAID, "a", 5, timestamp=10)
        driver.pipe(SHIPPED, "a", "x", timestamp=7)
        driver.pipe(SHIPPED, "b", "y", timestamp=12)
        assert shown(driver) == [("a", "5", 10), ("a", "5x", 10), ("b", "y", 12)]
        assert driver.store_contents(STATE) == {"a": ("5x", 10), "b": ("y", 12)}


def test_cogroup_function_that_returns_none_deletes_row_or_changes_nothing() -> None:
    with TopologyTestDriver(orders().build()) as driver:
        driver.pipe(SHIPPED, "a", None, timestamp=1)
        driver.pipe(PAID, "a", 5, timestamp=2)
        driver.pipe(SHIPPED, "a", None, timestamp=3)
        driver.pipe(PAID, "a", 6, timestamp=4)
        assert shown(driver) == [("a", "5", 2), ("a", None, 3), ("a", "6", 4)]
        assert driver.store_contents(STATE) == {"a": ("6", 4)}
        assert driver.dropped == {}


def test_cogroup_counts_null_keys_as_dropped() -> None:
    with TopologyTestDriver(orders().build()) as driver:
        driver.write_bytes("paid", None, INT64.serialize(5), timestamp=0)
        driver.run()
        assert shown(driver) == []
        assert driver.dropped == {"null-key": 1}


def test_failing_cogroup_function_leaves_state_unchanged() -> None:
    def failing(old: str | None, record: Record[str, int]) -> str:
        raise ArithmeticError("no")

    builder = TopologyBuilder("t", on_error="skip")
    paid = builder.add_source("paid", PAID)
    table = builder.cogroup("x", feed(paid, on_payment), feed(paid, failing), store=STATE)
    builder.add_sink("out", ORDERS, builder.to_stream("changes", table))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(PAID, "a", 5)
        assert shown(driver) == []
        assert driver.store_contents(STATE) == {}
        assert driver.dropped == {"skipped-ProcessingError": 1}


def test_record_in_two_cogroup_inputs_is_applied_twice_with_one_result_per_batch() -> None:
    builder = TopologyBuilder("t")
    shipped = builder.add_source("shipped", SHIPPED)
    louder = builder.add_processor("louder", map_values(lambda v: v and v.upper()), shipped)
    table = builder.cogroup("x", feed(shipped, on_shipment), feed(louder, on_shipment), store=STATE)
    steps = Topic("steps", TEXT, TEXT, nulls="pass")
    builder.add_sink("out", ORDERS, builder.to_stream("last", table, emit=once_per_batch()))
    builder.add_sink("all", steps, builder.to_stream("each", table, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(SHIPPED, "a", "x", timestamp=1)
        assert shown(driver) == [("a", "Xx", 1)]
        assert [row.value for row in driver.read(steps)] == ["X", "Xx"]


def test_join_after_cogroup_receives_one_change_for_record_that_reaches_two_inputs() -> None:
    builder = TopologyBuilder("t")
    shipped = builder.add_source("shipped", SHIPPED)
    table = builder.cogroup(
        "x", feed(shipped, on_shipment), feed(shipped, on_shipment), store=STATE
    )
    halves = builder.derive("halves", table, lambda _, text: text[: len(text) // 2])
    both = builder.join_tables("both", table, halves, inner(lambda one, two: f"{one}/{two}"))
    builder.add_sink("out", ORDERS, builder.to_stream("changes", both, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(SHIPPED, "a", "x", timestamp=1)
        driver.pipe(SHIPPED, "a", "y", timestamp=2)
        assert shown(driver) == [("a", "xx/x", 1), ("a", "xxyy/xx", 2)]


def test_cogroup_accepts_repartition_as_input() -> None:
    builder = TopologyBuilder("t")
    paid = builder.add_source("paid", Topic("paid", TEXT, INT64))
    by_amount = builder.add_processor("amount", rekey(lambda _, amount: str(amount)), paid)
    edge = builder.repartition("by-amount", by_amount, key=TEXT, value=INT64)
    shipped = builder.add_source("shipped", SHIPPED)
    table = builder.cogroup(
        "x",
        feed(edge, lambda old, record: f"{old or ''}{record.value}"),
        feed(shipped, on_shipment),
        store=STATE,
    )
    builder.add_sink("out", ORDERS, builder.to_stream("changes", table))
    with TopologyTestDriver(builder.build(), partitions=3) as driver:
        for number in range(5):
            driver.write(Topic("paid", TEXT, INT64), f"u{number}", number, timestamp=number)
            driver.write(SHIPPED, str(number), "s", timestamp=9)
        driver.run()
        found = driver.store_contents(STATE)
        assert found == {str(number): (f"{number}s", 9) for number in range(5)}


def test_cogroup_without_inputs_or_with_other_store_is_rejected() -> None:
    builder = TopologyBuilder("t")
    with pytest.raises(TopologyError, match="'x' has no inputs"):
        builder.cogroup("x", store=STATE)
    paid = builder.add_source("paid", PAID)
    with pytest.raises(TopologyError, match="cogroup needs a timestamped store"):
        builder.cogroup(
            "x",
            feed(paid, on_payment),
            store=key_value_store("s", key=TEXT, value=TEXT),  # type: ignore[arg-type]
        )


def test_unchanged_cogroup_state_expires_after_ttl() -> None:
    with TopologyTestDriver(orders(ttl_ms=10).build()) as driver:
        driver.pipe(PAID, "a", 5, timestamp=0)
        driver.pipe(PAID, "b", 6, timestamp=9)
        driver.pipe(PAID, "b", 7, timestamp=10)
        assert shown(driver) == [("a", "5", 0), ("b", "6", 9), ("b", "67", 10), ("a", None, 10)]
        assert driver.store_contents(STATE) == {"b": ("67", 10)}
