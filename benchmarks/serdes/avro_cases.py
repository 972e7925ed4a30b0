"""Cost of Avro: `python -m benchmarks.serdes.avro_cases`."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.engine.one_task import Bench
from benchmarks.measured import Times
from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import count, field, over, sum_
from kstreams.durations import seconds
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.state.backend.memory import Memory
from kstreams.stores import window_store
from kstreams.task.gc_pause import gc_pauses
from kstreams.task.records.queues import Queue
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_avro import avro_schema, avro_serde

__all__ = ("Order", "cases", "main", "orders", "window_cases")

_ROUNDS = 7
_WINDOWS = TumblingWindows(seconds(10))
_BEHIND_THE_FRAME = 5, 2**31 - 1


class Order(msgspec.Struct):
    """Three numbers, two texts, a bool and a list of two texts: 49 bytes."""

    id: int
    at_ms: int
    price: float
    item: str
    note: str | None
    express: bool
    tags: list[str]


def orders(number: int) -> list[Order]:
    """Return this number of orders."""
    return [
        Order(
            n * 13 % 1_000_000,
            1_700_000_000_000 + n,
            n / 7,
            f"item number {n % 97}",
            f"note {n % 1000}" if n % 10 else None,
            n % 3 == 0,
            ["red", "blue"],
        )
        for n in range(number)
    ]


def cases(number: int) -> dict[str, Callable[[], object]]:
    """Return the measured functions by name; each call handles `number` records."""
    serde, values = avro_serde(Order), orders(number)
    data = serde.serialize_many(values)
    columns = serde.to_arrow(data)
    items = data.to_pylist()
    framed = pa.array([b"\x00\x00\x00\x00\x01" + item for item in items], pa.binary())
    narrower = avro_schema(serde.schema.text.replace('"id","type":"long"', '"id","type":"int"'))
    reader = serde.reading(narrower)  # `long` and `int` have the same encoding
    parsed = fastavro.parse_schema(msgspec.json.decode(serde.schema.text))

    def by_fastavro() -> None:
        for item in items:
            msgspec.convert(fastavro.schemaless_reader(io.BytesIO(item), parsed, None), Order)

    return {
        "bytes to objects": lambda: serde.deserialize_many(data),
        "bytes to objects, one by one": lambda: list(map(serde.deserialize, items)),
        "the same by fastavro and msgspec": by_fastavro,
        "objects to bytes": lambda: serde.serialize_many(values),
        "bytes to columns": lambda: serde.to_arrow(data),
        "framed bytes to columns": lambda: serde.to_arrow(
            pc.binary_slice(framed, *_BEHIND_THE_FRAME)
        ),
        "bytes of another schema to columns": lambda: reader.to_arrow(data),
        "bytes of another schema to its own": lambda: serde.rewritten(data, reader),
        "columns to bytes": lambda: serde.from_arrow(columns),
        "a field of bytes": lambda: serde.field(data, "id", pa.int64()),
        "a field of columns": lambda: serde.field(columns, "id", pa.int64()),
    }


def window_cases(number: int) -> Iterator[tuple[str, Any, list[Queue]]]:
    """Yield tumbling windows in columns mode: a name, the topology's group, and its batches."""
    serde = avro_serde(Order)
    data = serde.serialize_many(orders(number))
    texts = pa.array(["x" * len(item) for item in data.to_pylist()], pa.binary())
    yield _case("count of text", TEXT, count(), texts)
    yield _case("count of Avro", serde, count(), data)
    yield _case("sum of INT64", INT64, sum_(INT64), INT64.serialize_many(list(range(number))))
    yield _case("sum of a field of Avro", serde, over(field("id", INT64), sum_(INT64)), data)


def _case(name: str, serde: Any, how: Any, data: pa.Array) -> tuple[str, Any, list[Queue]]:
    builder = TopologyBuilder("bench")
    source: Any = builder.add_source("in", Topic("in", TEXT, serde))
    store = window_store("state", key=TEXT, value=INT64)
    supplier: Any = windowed_aggregate(_WINDOWS, how, store=store, execution="columns")
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
        with gc_pauses(), times:  # as in a task
            call()
    return min(times.cpu)


def _window_run(group: Any, batches: list[Queue]) -> None:
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(group, Memory(), Path(home))
        for batch in batches:
            bench.run(batch)


def main() -> None:
    """Print microseconds of processor time per record, from the best of several rounds."""
    for name, call in cases(50_000).items():
        print(f"{name:36} {_measured(call) * 20:6.3f} us")
    for name, group, batches in window_cases(200_000):
        us = _measured(lambda group=group, batches=batches: _window_run(group, batches)) * 5  # type: ignore[misc]  # bound immediately
        print(f"{name:36} {us:6.3f} us")


if __name__ == "__main__":
    main()
