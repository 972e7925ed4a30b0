"""Cost of functions by columns and by records: `python -m benchmarks.serdes.column_functions`.

Each case sums orders in JSON by key, in one task. The first two figures are the comparison of
`columns` with `field`: their ratio should be at most 1.1.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from benchmarks.engine.one_task import Bench
from benchmarks.measured import Times
from kstreams import DOUBLE, TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import field, over, sum_
from kstreams.operators import aggregate, columns, filter_
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.state.backend.memory import Memory
from kstreams.task.gc_pause import gc_pauses
from kstreams.task.records.queues import Queue
from kstreams_json import json_serde

__all__ = ("Order", "cases", "main")

_ROUNDS = 9
_RECORDS = 200_000


class Order(msgspec.Struct, frozen=True):
    """Two texts and two numbers."""

    user: str
    item: str
    price: float
    quantity: int


def price_of(order: Order) -> float:
    """Return the price."""
    return order.price


def amount_of(order: Order) -> float:
    """Return the product of price and quantity."""
    return order.price * order.quantity


def is_dear(order: Order) -> bool:
    """Return whether the price is above that of half of the orders."""
    return order.price > 50


def cases(number: int) -> dict[str, tuple[Any, list[Queue]]]:
    """Return the topology's group and the batches of each case, by name."""
    batches = _batches(number)
    return {
        "sum of field('price', DOUBLE)": (_group(field("price", DOUBLE)), batches),
        "sum of columns(price)": (_group(columns(price_of)), batches),
        "sum of columns(price * quantity)": (_group(columns(amount_of)), batches),
        "sum of a function by records": (_group(amount_of), batches),
        "filter and sum by columns": (_group(columns(amount_of), columns(is_dear)), batches),
        "filter and sum by records": (_group(amount_of, is_dear), batches),
    }


def _group(part: Any, predicate: Any = None) -> Any:
    builder: Any = TopologyBuilder("bench")
    node = builder.add_source("in", Topic("in", TEXT, json_serde(Order)))
    if predicate is not None:
        node = builder.add_processor("some", filter_(predicate), node)
    total: Any = over(part, sum_(DOUBLE))
    store: Any = timestamped_store("sums", key=TEXT, value=DOUBLE)
    node = builder.add_processor("sum", aggregate(total, store=store), node)
    builder.add_sink("out", Topic("out", TEXT, DOUBLE), node)
    return builder.build().groups[0]


def _batches(number: int) -> list[Queue]:
    orders = [
        Order(f"user-{n % 1_000}", f"item {n % 97}", n % 1_000 / 10, 1 + n % 5)
        for n in range(number)
    ]
    data = json_serde(Order).serialize_many(orders)
    keys = pa.array([order.user.encode() for order in orders], pa.binary())
    headers = pa.nulls(number, INPUT_SCHEMA.field("headers").type)
    numbers = pa.array(np.arange(number))
    table = pa.Table.from_arrays([numbers, numbers, keys, data, headers], schema=INPUT_SCHEMA)
    return [Queue("in", "in", 0, table.slice(n, 50_000)) for n in range(0, number, 50_000)]


def _run(group: Any, batches: list[Queue]) -> None:
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(group, Memory(), Path(home))
        for batch in batches:
            bench.run(batch)


def main() -> None:
    """Print microseconds of processor time per record, from the best of several rounds."""
    found = cases(_RECORDS)
    times = {name: Times() for name in found}
    for _ in range(_ROUNDS):  # in turn, so that all cases see the same load
        for name, case in found.items():
            with gc_pauses(), times[name]:  # as in a task
                _run(*case)
    for name, each in times.items():
        print(f"{name:<40}{min(each.cpu) / _RECORDS * 1e6:8.3f}")


if __name__ == "__main__":
    main()
