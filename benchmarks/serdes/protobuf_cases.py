"""What protobuf costs: python -m benchmarks.serdes.protobuf_cases."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from benchmarks.engine.one_task import Bench
from benchmarks.measured import Times
from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import count, field, over, sum_
from kstreams.durations import seconds
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.state.backend.memory import Memory
from kstreams.stores import window_store
from kstreams.task.queues import Queue
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_protobuf.descriptor_set import message_class
from kstreams_protobuf.serde import ProtobufSerde

__all__ = ("cases", "main", "orders", "window_cases")

_ROUNDS = 7
_FIELDS = {
    "id": FieldDescriptorProto.TYPE_STRING,
    "customer": FieldDescriptorProto.TYPE_STRING,
    "item": FieldDescriptorProto.TYPE_STRING,
    "quantity": FieldDescriptorProto.TYPE_INT32,
    "cents": FieldDescriptorProto.TYPE_INT64,
    "discount": FieldDescriptorProto.TYPE_DOUBLE,
    "express": FieldDescriptorProto.TYPE_BOOL,
}
_WINDOWS = TumblingWindows(seconds(10))


def orders(number: int) -> tuple[ProtobufSerde[Any], list[Any]]:
    """Return a serde of orders with seven fields, and so many of them, 60 bytes each."""
    files = FileDescriptorSet()
    file = files.file.add(name="orders.proto", package="bench", syntax="proto3")
    message = file.message_type.add(name="Order")
    for place, (name, kind) in enumerate(_FIELDS.items(), 1):
        message.field.add(name=name, number=place, type=kind, label=1)
    kind_of: Any = message_class(files.SerializeToString(), "bench.Order")
    made = [
        kind_of(
            id=f"order-{n:010}",
            customer=f"customer-{n % 1_000}",
            item=f"item number {n % 97}",
            quantity=n % 7 + 1,
            cents=n * 13 % 100_000,
            discount=n % 10 / 100,
            express=n % 3 == 0,
        )
        for n in range(number)
    ]
    return ProtobufSerde(kind_of), made


def cases(number: int) -> dict[str, Callable[[], object]]:
    """Return what is measured, by name; each call handles so many records."""
    serde, values = orders(number)
    data = serde.serialize_many(values)
    columns = serde.to_arrow(data)

    def read_all() -> None:
        found: list[Any] = serde.deserialize_many(data)
        for each in found:
            _ = each.id, each.customer, each.item, each.quantity, each.cents, each.discount

    return {
        "bytes to objects": lambda: serde.deserialize_many(data),
        "bytes to objects, fields read": read_all,
        "objects to bytes": lambda: serde.serialize_many(values),
        "bytes to columns": lambda: serde.to_arrow(data),
        "columns to bytes": lambda: serde.from_arrow(columns),
        "a field of columns": lambda: serde.field(columns, "cents", pa.int64()),
    }


def window_cases(number: int) -> Iterator[tuple[str, Any, list[Queue]]]:
    """Yield tumbling windows by columns: a name, the topology's group, and its batches."""
    serde, values = orders(number)
    messages = serde.serialize_many(values)
    texts = pa.array(["x" * len(item) for item in messages.to_pylist()], pa.string())
    yield _case("count of text", TEXT, count(), texts.cast(pa.binary()))
    yield _case("count of protobuf", serde, count(), messages)
    yield _case("sum of INT64", INT64, sum_(INT64), INT64.serialize_many(list(range(number))))
    yield _case("sum of a field", serde, over(field("cents", INT64), sum_(INT64)), messages)


def _case(name: str, serde: Any, how: Any, data: pa.Array) -> tuple[str, Any, list[Queue]]:
    builder = TopologyBuilder("bench")
    source: Any = builder.add_source("in", Topic("in", TEXT, serde))
    supplier: Any = windowed_aggregate(
        _WINDOWS,
        how,
        store=window_store("state", key=TEXT, value=INT64),
        execution="columns",
    )
    out: Any = Topic("out", windowed(TEXT, _WINDOWS), INT64)
    builder.add_sink("out", out, builder.add_processor("w", supplier, source))
    rows = len(data)
    keys = pa.array([b"key-%d" % (n % 1_000) for n in range(rows)], pa.binary())
    headers = pa.nulls(rows, INPUT_SCHEMA.field("headers").type)
    numbers = pa.array(np.arange(rows))
    table = pa.Table.from_arrays([numbers, numbers, keys, data, headers], schema=INPUT_SCHEMA)
    batches = [Queue("in", "in", 0, table.slice(n, 50_000)) for n in range(0, rows, 50_000)]
    return name, builder.build().groups[0], batches


def _measured(call: Callable[[], object]) -> float:
    times = Times()
    for _ in range(_ROUNDS):
        with times:
            call()
    return min(times.cpu)


def _window_run(group: Any, batches: list[Queue]) -> None:
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(group, Memory(), Path(home))
        for batch in batches:
            bench.run(batch)


def main() -> None:
    """Print microseconds of processor time a record, the best of some rounds."""
    for name, call in cases(100_000).items():
        print(f"{name:32} {_measured(call) * 10:6.3f} us")
    for name, group, batches in window_cases(200_000):
        us = _measured(partial(_window_run, group, batches)) * 5
        print(f"{name:32} {us:6.3f} us")


if __name__ == "__main__":
    main()
