"""Cases of windowed aggregation: their topologies and their records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.zipf import zipf
from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    Topic,
    Topology,
    TopologyBuilder,
    aggregate,
    timestamped_store,
)
from kstreams.aggregators import combine, count, first, last, max_, mean, min_, sum_, variance
from kstreams.durations import seconds
from kstreams.emit import each_update, on_close, once_per_batch
from kstreams.serde.composite import TupleSerde
from kstreams.stores import session_store, sliding_store, window_store
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    windowed,
    windowed_aggregate,
)

__all__ = ("PAST", "STANDARD", "Case", "drawn", "matrix", "topology")

WINDOWS: dict[str, Any] = {
    "none": None,
    "tumbling": TumblingWindows(seconds(10)),
    "hopping": HoppingWindows(seconds(60), seconds(10)),
    "sliding": SlidingWindows(seconds(1)),
    "session": SessionWindows(seconds(10)),
    "calendar": CalendarWindows("day"),
    "kept": TumblingWindows(seconds(10), grace=timedelta(days=1)),
}
AGGREGATORS: dict[str, Any] = {
    "count": count(),
    "sum": sum_(INT64),
    "sum-double": sum_(DOUBLE),
    "min": min_(INT64),
    "max": max_(INT64),
    "mean": mean(),
    "variance": variance(),
    "first": first(INT64),
    "last": last(INT64),
    "together": combine(count(), sum_(INT64), max_(INT64), mean()),
}
RESULTS: dict[str, Any] = {
    "sum-double": DOUBLE,
    "mean": DOUBLE,
    "variance": DOUBLE,
    "together": TupleSerde["tuple[Any, ...]"](INT64, INT64, INT64, DOUBLE),
}
EMISSIONS: dict[str, Any] = {
    "batch": once_per_batch(),
    "update": each_update(),
    "close": on_close(),
}


@dataclass(frozen=True)
class Case:
    """A case: kind of windows, aggregation, execution and data."""

    name: str
    windows: str = "tumbling"
    aggregator: str = "count"
    emit: str = "batch"
    execution: str = "columns"
    keys: int = 100_000
    disorder_ms: int = 0
    records: int = 1_000_000
    batch: int = 125_000
    gap_us: int = 5_000
    engine: str = "process"


STANDARD = (
    Case("w1"),
    Case("w1-records", execution="records", records=500_000),
    Case("w1-update", emit="update"),
    Case("w1-close", emit="close"),
    Case("dense", keys=4_000, gap_us=100),
    Case("w1-late", disorder_ms=15_000),
    Case("hopping-6", "hopping"),
    Case("hopping-6-records", "hopping", execution="records", records=250_000),
    Case("sliding", "sliding"),
    Case("sliding-records", "sliding", execution="records", records=125_000),
    Case("session", "session"),
    Case("session-close", "session", emit="close"),
    Case("session-records", "session", execution="records", records=500_000),
    Case("calendar", "calendar"),
    Case("together", aggregator="together"),
    Case("plain", "none"),
    Case("plain-records", "none", execution="records", records=500_000),
)

PAST = (
    Case("closed", batch=25_000),
    Case("kept", "kept", batch=25_000),
)
"""Cases for the cost of past windows, which are either closed or still open."""


def matrix() -> Iterator[Case]:
    """Yield kinds of windows, aggregators, numbers of keys, disorder, executions and engines.

    All combinations for count and sum, one for each other aggregator.
    """
    kinds = ("tumbling", "hopping", "sliding", "session", "calendar")
    sizes = (100, 100_000, 10_000_000)
    records = {"columns": 250_000, "records": 40_000}
    for engine, execution, kind, how, keys, disorder in product(
        ("process", "spark"), records, kinds, ("count", "sum"), sizes, (0, 5_000)
    ):
        name = f"{engine}-{execution}-{kind}-{how}-{keys}-{disorder}"
        size = records[execution]
        yield Case(
            name, kind, how, "batch", execution, keys, disorder, size, size // 5, engine=engine
        )
    for how in AGGREGATORS:
        if how not in ("count", "sum"):
            size = records["columns"]
            yield Case(f"process-columns-tumbling-{how}-100000-0", "tumbling", how, records=size)


def topology(case: Case) -> Topology:
    """Build a source, the aggregation of a case and a sink, one below the other."""
    windows, how = WINDOWS[case.windows], AGGREGATORS[case.aggregator]
    execution: Any = case.execution
    builder = TopologyBuilder("windows")
    records: Any = builder.add_source("in", Topic("in", TEXT, INT64))
    key: Any = TEXT
    supplier: Any
    if windows is None:
        plain = timestamped_store("state", key=TEXT, value=how.state)
        supplier = aggregate(how, store=plain, emit=EMISSIONS[case.emit], execution=execution)
    else:
        makes: dict[str, Any] = {"session": session_store, "sliding": sliding_store}
        store = makes.get(case.windows, window_store)("state", key=TEXT, value=how.state)
        emit = EMISSIONS[case.emit]
        supplier = windowed_aggregate(windows, how, store=store, emit=emit, execution=execution)
        key = windowed(TEXT, windows)
    value = RESULTS.get(case.aggregator, INT64)
    results: Any = builder.add_processor("aggregate", supplier, records)
    builder.add_sink("out", Topic("out", key, value, nulls="pass"), results)
    return builder.build()


def drawn(case: Case) -> pa.Table:
    """Draw a case's records: keys Zipf 1.3 over all keys; W1 at its standard settings."""
    random = np.random.default_rng(1)
    names = pa.array(zipf(random, case.records, case.keys)).cast(pa.string())
    times = np.arange(case.records) * case.gap_us // 1000
    if case.disorder_ms:
        times = np.maximum(times - random.integers(0, case.disorder_ms, case.records), 0)
    return pa.table(
        {
            "timestamp": pa.array(times),
            "key": pc.binary_join_element_wise("key", names, "-").cast(pa.binary()),
            "value": INT64.from_arrow(pa.array(random.integers(0, 1000, case.records))),
        }
    )
