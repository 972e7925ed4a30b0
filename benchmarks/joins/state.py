"""State size of W6o (an outer interval join), window by window; checks that it does not grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.joins.pipeline import Feeds, Numbers, Pipeline
from benchmarks.suite.ads import AD_CLICKS, IMPRESSIONS
from benchmarks.suite.dataset import START_MS
from benchmarks.suite.registry import workload_by
from benchmarks.workloads.w6 import NEAR

__all__ = ("remembered",)

WINDOW_MS = 10_000
_RECORD_EVERY_MS = 1
_TIMESTAMP_BYTES = 8


def remembered(home: Path, windows: int) -> dict[str, Any]:
    """Run W6o over several windows of 10 s; return the bytes stored after each window.

    For comparison, the result contains the size of the raw rows that the join must keep: keys,
    values and timestamps of both sides, as far back as `within` and the grace period reach.
    """
    workload = workload_by("W6o")
    if workload.topology is None:
        raise SystemExit("W6o has no topology")
    pipeline, feeds = Pipeline(workload.topology("shown", "clicks", "out", "auto"), home), Feeds()
    a_window = WINDOW_MS // _RECORD_EVERY_MS
    sides = {
        "shown": IMPRESSIONS.records(windows * a_window),
        "clicks": AD_CLICKS.records(windows * a_window),
    }
    until = {name: _newest(table) for name, table in sides.items()}
    read, stored = dict.fromkeys(sides, 0), []
    for number in range(windows):
        batch = []
        for name, table in sides.items():
            end = int(np.searchsorted(until[name], START_MS + (number + 1) * WINDOW_MS))
            rows = table.slice(read[name], end - read[name])
            read[name] = end
            times = rows.column("timestamp").to_numpy()
            key, value = (rows.column(column).combine_chunks() for column in ("key", "value"))
            batch.append(feeds.queue(name, key, value, times))
        pipeline.run(batch)
        stored.append(pipeline.state_bytes())
    known_from = START_MS + windows * WINDOW_MS - sum(NEAR.spans_ms)
    raw = sum(
        _bytes(table.slice(0, read[name]).filter(pc.field("timestamp") >= known_from))
        for name, table in sides.items()
    )
    return {"stored": stored, "raw": raw}


def _newest(table: pa.Table) -> Numbers:
    newest: Numbers = np.maximum.accumulate(table.column("timestamp").to_numpy())
    return newest


def _bytes(rows: pa.Table) -> int:
    sizes = (pc.sum(pc.binary_length(rows.column(name))).as_py() for name in ("key", "value"))
    return int(sum(sizes) + _TIMESTAMP_BYTES * rows.num_rows)
