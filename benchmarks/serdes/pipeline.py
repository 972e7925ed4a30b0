"""A tumbling count in columns mode: values with registry schemas compared with plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.serdes.ours import framed_serdes, micros
from benchmarks.serdes.values import Order, orders
from devtools.servers.fake_registry import FakeRegistry
from kstreams import INT64, TEXT, Serde, Topic, TopologyBuilder
from kstreams.aggregators import count, field, over, sum_
from kstreams.durations import minutes
from kstreams.raw_batch import HEADERS_TYPE, INPUT_SCHEMA
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.stores import window_store
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.records.queues import Queue
from kstreams.task.task import Task
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

__all__ = ("rates",)

_BATCH = 100_000
_WINDOWS = TumblingWindows(minutes(1))


def rates(rounds: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield records per processor second by the format of values."""
    given = orders(_BATCH)
    with FakeRegistry() as registry:
        serdes: dict[str, tuple[Serde[Any], Callable[[Order], Any]]] = {
            "text": (TEXT, lambda order: f"{order.customer} orders {order.item}, {order.count}"),
            **framed_serdes(registry),
        }
        for name, (serde, made) in serdes.items():
            rows = serde.serialize_many([made(order) for order in given])
            found = {"count": _rate(_counting(serde), rows, given, rounds)}
            if name != "text":
                found["sum of a field"] = _rate(_summing(serde), rows, given, rounds)
            yield name, found


def _counting(serde: Serde[Any]) -> Any:
    store = window_store("counts", key=TEXT, value=INT64)
    return serde, windowed_aggregate(_WINDOWS, count(), store=store)


def _summing(serde: Serde[Any]) -> Any:
    store = window_store("sums", key=TEXT, value=INT64)
    counts = over(field("count", INT64), sum_(INT64))
    return serde, windowed_aggregate(_WINDOWS, counts, store=store)


def _rate(what: Any, rows: pa.Array, given: list[Order], rounds: int) -> float:
    serde, supplier = what
    builder = TopologyBuilder("windows")
    read = builder.add_source("in", Topic("in", TEXT, serde))
    node = builder.add_processor("window", supplier, read)
    builder.add_sink("out", Topic("out", windowed(TEXT, _WINDOWS), INT64), node)
    (group,) = builder.build().groups
    columns = [
        pa.array(np.arange(_BATCH)),
        pa.array(np.arange(_BATCH) * 10),
        pa.array([order.customer.encode() for order in given], pa.binary()),
        rows,
        pa.nulls(_BATCH, HEADERS_TYPE),
    ]
    queue = Queue("in", "in", 0, pa.Table.from_arrays(columns, schema=INPUT_SCHEMA))

    def batch() -> None:
        overlay = Overlay(MemoryStore([spec.name for spec in group.stores]))
        task = Task(group, 0, overlay, TaskMeta())
        task.run([queue], wall_ms=0)
        overlay.changes()

    return 1e6 / micros(batch, _BATCH, rounds)
