"""Runs windowed aggregations on the test driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import Aggregator, collect
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import (
    SessionWindows,
    SlidingWindows,
    Windowed,
    windowed,
    windowed_aggregate,
)
from kstreams_testing.driver import TopologyTestDriver

SOURCE = Topic("in", TEXT, INT64)

Row = tuple[str, int, int]
"""Key, value and timestamp (ms) of an input."""
Result = tuple[Windowed[str], Any, int]
"""Windowed key, value and timestamp (ms) of a result."""

ALL: Aggregator[object, int, tuple[int, ...], tuple[int, ...]] = collect(INT64)


def store_for(windows: Any, state: Any) -> Any:
    if isinstance(windows, SessionWindows):
        return session_store("state", key=TEXT, value=state)
    if isinstance(windows, SlidingWindows):
        return sliding_store("state", key=TEXT, value=state)
    return window_store("state", key=TEXT, value=state)


def topology_of(
    windows: Any, emit: Any, aggregator: Any = ALL, execution: Any = "auto", result: Any = None
) -> tuple[Topology, Any]:
    """Return a topology, and the topic of its results."""
    sink: Topic[Any, Any] = Topic(
        "out", windowed(TEXT, windows), result or aggregator.state, nulls="pass"
    )
    builder = TopologyBuilder("windows")
    records: Any = builder.add_source("in", SOURCE)
    store = store_for(windows, aggregator.state)
    supplier: Any = windowed_aggregate(
        windows, aggregator, store=store, emit=emit, execution=execution
    )
    results: Any = builder.add_processor("windows", supplier, records)
    builder.add_sink("out", sink, results)
    return builder.build(), sink


def driver_of(
    windows: Any, emit: Any, aggregator: Any = ALL, execution: Any = "auto", result: Any = None
) -> tuple[TopologyTestDriver, Any]:
    """Return a driver, and the topic of its results."""
    topology, sink = topology_of(windows, emit, aggregator, execution, result)
    return TopologyTestDriver(topology, recreate_processors=True), sink


def run(
    windows: Any,
    emit: Any,
    rows: Sequence[Row],
    cuts: Sequence[int] = (),
    aggregator: Any = ALL,
    execution: Any = "auto",
    result: Any = None,
) -> tuple[list[list[Result]], dict[str, int], int]:
    """Return results by batch, counts of dropped records, and the stored rows.

    Args:
        windows: The windows.
        emit: The emission of results.
        rows: The records.
        cuts: Ends of batches before the end of all records.
        aggregator: The aggregator; collects all values by default.
        execution: Records or columns.
        result: Serde of the results; the serde of the state by default.
    """
    driver, sink = driver_of(windows, emit, aggregator, execution, result)
    batches = []
    with driver:
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            for key, value, timestamp in rows[begin:end]:
                driver.write(SOURCE, key, value, timestamp=timestamp)
            driver.run()
            batches.append([(r.key, r.value, r.timestamp) for r in driver.read(sink)])
        store: Any = driver.store(store_for(windows, aggregator.state))
        return batches, driver.dropped, len(list(store.fetch_all()))
