"""What windowed aggregation does in one process, without Spark, on RocksDB.

    python -m benchmarks.windows                     # the standard cases, as a table
    python -m benchmarks.windows --smoke             # a few records, to see that it runs
    python -m benchmarks.windows --matrix            # window x aggregator x keys x disorder
    python -m benchmarks.windows --json windows.json # the figures as JSON too
    python -m benchmarks.windows w1 --profile        # where the time goes

A batch has 125,000 records and its own task, overlay and checkout, as on Spark; everything
from the encoded input to the encoded output, and to the durable delta on disk, is inside
the time. Records are 5 ms apart (`dense`: 0.1 ms), keys Zipf 1.3; disorder shifts times
back by up to so many ms. `vector` aggregates whole columns, `record` makes one call a
record. Beside the wall clock stands CPU time of the process, which other load on the
machine disturbs less.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.engine_task import Bench
from benchmarks.machine import machine
from kstreams import DOUBLE, INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count, last, max_, mean, sum_, together, variance
from kstreams.processors.aggregate import aggregate
from kstreams.serde.composite import TupleSerde
from kstreams.state.session_store import session_store
from kstreams.state.timestamped_store import timestamped_store
from kstreams.state.window_store import window_store
from kstreams.task.queues import QUEUE_SCHEMA, Queue
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    TumblingWindows,
    each_update,
    on_close,
    once_per_batch,
    seconds,
    windowed,
    windowed_aggregate,
)
from kstreams_rocksdb import RocksDB

IN = Topic("in", TEXT, INT64)

WINDOWS: dict[str, Any] = {
    "none": None,
    "tumbling": TumblingWindows(seconds(10)),
    "hopping": HoppingWindows(seconds(60), seconds(10)),
    "calendar": CalendarWindows("day"),
    "session": SessionWindows(seconds(10)),
}
AGGREGATORS: dict[str, Any] = {
    "count": count(),
    "sum": sum_(INT64),
    "max": max_(INT64),
    "mean": mean(),
    "variance": variance(),
    "last": last(INT64),
    "together": together(count(), sum_(INT64), max_(INT64), mean()),
}
EMISSIONS: dict[str, Any] = {
    "batch": once_per_batch(),
    "update": each_update(),
    "close": on_close(),
}


@dataclass(frozen=True)
class Case:
    """What is measured."""

    name: str
    windows: str = "tumbling"
    aggregator: str = "count"
    emit: str = "batch"
    path: str = "vector"
    keys: int = 100_000
    disorder_ms: int = 0
    records: int = 1_000_000
    batch: int = 125_000
    gap_us: int = 5_000


STANDARD = (
    Case("w1"),
    Case("w1-record", path="record", records=250_000),
    Case("w1-update", emit="update"),
    Case("w1-close", emit="close"),
    Case("dense", keys=4_000, gap_us=100),
    Case("w1-late", disorder_ms=15_000),
    Case("hopping-6", "hopping"),
    Case("hopping-6-record", "hopping", path="record", records=250_000),
    Case("session", "session"),
    Case("session-close", "session", emit="close"),
    Case("session-record", "session", path="record", records=250_000),
    Case("calendar", "calendar"),
    Case("together", aggregator="together"),
    Case("plain", "none"),
    Case("plain-record", "none", path="record", records=250_000),
)


def matrix() -> Iterator[Case]:
    """Yield every kind of windows, aggregator, number of keys, disorder and path."""
    sizes = (100, 100_000, 10_000_000)
    for kind, how, keys, disorder, path in product(
        WINDOWS, AGGREGATORS, sizes, (0, 5_000), ("vector", "record")
    ):
        name = f"{kind}-{how}-{keys}-{disorder}-{path}"
        yield Case(name, kind, how, "batch", path, keys, disorder, 250_000)


@dataclass(frozen=True)
class Figures:
    """What a case gave, its best round."""

    case: str
    records_per_s: int
    records_per_cpu_s: int
    p50_batch_ms: float
    p99_batch_ms: float
    results: int
    dropped: int
    state_bytes_per_key: float


def topology(case: Case) -> Topology:
    """Build in -> aggregation -> out."""
    windows, how = WINDOWS[case.windows], AGGREGATORS[case.aggregator]
    path: Any = case.path
    builder = TopologyBuilder("windows")
    records: Any = builder.add_source("in", IN)
    key: Any = TEXT
    supplier: Any
    if windows is None:
        plain = timestamped_store("state", key=TEXT, value=how.state)
        supplier = aggregate(how, store=plain, emit=EMISSIONS[case.emit], path=path)
    else:
        make: Any = session_store if case.windows == "session" else window_store
        store = make("state", key=TEXT, value=how.state)
        emit = EMISSIONS[case.emit]
        supplier = windowed_aggregate(windows, how, store=store, emit=emit, path=path)
        key = windowed(TEXT, windows)
    value = DOUBLE if case.aggregator in ("mean", "variance") else how.state
    value = INT64 if case.aggregator == "last" else value
    if case.aggregator == "together":
        value = TupleSerde["tuple[Any, ...]"](INT64, INT64, INT64, DOUBLE)
    results: Any = builder.add_processor("aggregate", supplier, records)
    builder.add_sink("out", Topic("out", key, value, nulls="pass"), results)
    return builder.build()


def queues(case: Case) -> list[Queue]:
    """Draw the records of a case; W1 at its standard settings."""
    random = np.random.default_rng(1)
    numbers = (random.zipf(1.3, case.records) - 1) % case.keys
    names = pa.array(numbers).cast(pa.string())
    keys = pc.binary_join_element_wise("key", names, "-").cast(pa.binary())
    times = np.arange(case.records) * case.gap_us // 1000
    if case.disorder_ms:
        times = np.maximum(times - random.integers(0, case.disorder_ms, case.records), 0)
    values = INT64.from_arrow(pa.array(random.integers(0, 1000, case.records)))
    headers = pa.nulls(case.records, QUEUE_SCHEMA.field("headers").type)
    columns = [pa.array(np.arange(case.records)), pa.array(times), keys, values, headers]
    table = pa.Table.from_arrays(columns, schema=QUEUE_SCHEMA)
    return [
        Queue("in", "in", 0, table.slice(start, case.batch))
        for start in range(0, case.records, case.batch)
    ]


def measured(case: Case, home: Path, rounds: int, profile: cProfile.Profile | None) -> Figures:
    """Run a case some rounds; return the best one's figures."""
    batches = queues(case)
    found = [_round(case, batches, home / f"{case.name}-{n}", profile) for n in range(rounds)]
    return max(found, key=lambda figures: figures.records_per_cpu_s)


def _round(
    case: Case, batches: Sequence[Queue], home: Path, profile: cProfile.Profile | None
) -> Figures:
    bench = Bench(topology(case), RocksDB(), home)
    times: list[float] = []
    results = dropped = 0
    gc.collect()
    if profile is not None:
        profile.enable()
    wall, cpu = time.perf_counter(), time.process_time()
    for queue in batches:
        begin = time.perf_counter()
        output = bench.run(queue)
        times.append(1000 * (time.perf_counter() - begin))
        results += sum(table.num_rows for table in output.sinks.values())
        dropped += sum(output.dropped.values())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if profile is not None:
        profile.disable()
    state = sum(path.stat().st_size for path in (home / "local").rglob("*.sst"))
    seen = len(pa.concat_tables([queue.table for queue in batches]).column("key").unique())
    shutil.rmtree(home, ignore_errors=True)
    return Figures(
        case.name,
        round(case.records / wall),
        round(case.records / cpu),
        round(float(np.percentile(times, 50)), 1),
        round(float(np.percentile(times, 99)), 1),
        results,
        dropped,
        round(state / seen, 1),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    known = {case.name: case for case in (*STANDARD, *matrix())}
    parser.add_argument("cases", nargs="*", help="names of cases; the standard ones by default")
    parser.add_argument("--matrix", action="store_true", help="every combination")
    parser.add_argument("--smoke", action="store_true", help="a few records, one round")
    parser.add_argument("--json", type=Path, help="where to put the figures")
    parser.add_argument("--home", type=Path, help="where state and log go; a temporary directory")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in known]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    cases: Sequence[Case] = [known[name] for name in options.cases] or STANDARD
    cases = list(matrix()) if options.matrix else cases
    rounds = max(options.rounds, 1)
    if options.smoke:
        cases, rounds = [replace(case, records=2_000, batch=1_000) for case in cases], 1
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {about['load']}")
    heads = ("records/s", "per CPU s", "p50 ms", "p99 ms", "results", "dropped", "B/key")
    print(f"{'':34}" + "".join(f"{head:>11}" for head in heads))
    figures = []
    with tempfile.TemporaryDirectory(prefix="kstreams-bench-", dir=options.home) as home:
        for case in cases:
            profile = cProfile.Profile(time.process_time) if options.profile else None
            found = measured(case, Path(home), rounds, profile)
            figures.append({**asdict(case), **asdict(found)})
            print(
                f"{found.case:34}{found.records_per_s:11,}{found.records_per_cpu_s:11,}"
                f"{found.p50_batch_ms:11.1f}{found.p99_batch_ms:11.1f}{found.results:11,}"
                f"{found.dropped:11,}{found.state_bytes_per_key:11.1f}",
                flush=True,
            )
            if profile is not None:
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": about, "figures": figures}, indent=1))


if __name__ == "__main__":
    main()
