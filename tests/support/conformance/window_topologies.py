"""The topology of each window operation; those of joins are in `join_topologies`."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Any

from kstreams import INT64, TEXT, Record, Topic, Topology, TopologyBuilder
from kstreams.aggregators import Aggregator, fold, sum_
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close, suppress, until_window_closes
from kstreams.partitioner import Partitioner
from kstreams.processors.columns import Execution
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import (
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    Windowed,
    WindowedSupplier,
    windowed,
    windowed_aggregate,
)
from tests.support.conformance.case import Case
from tests.support.conformance.join_topologies import join_topology


@dataclass(frozen=True)
class Built:
    """A case's topology and its output; its sources have the names of its topics."""

    topology: Topology
    sink: Topic[Any, Any]


def concatenated(text: str, record: Record[str, str | None]) -> str:
    """Concatenate two texts as Java does, which shows a null value."""
    return text + ("null" if record.value is None else record.value)


CONCATENATION: Aggregator[str, str | None, str, str] = fold(TEXT, str, concatenated, merge=add)


def build(case: Case, execution: Execution = "records") -> Built:
    """Build a case's topology.

    Raises:
        ValueError: The operation does not exist, or does not run with this execution.
    """
    case.check()
    builder = TopologyBuilder("conformance")
    if case.is_join:
        return _join(case, execution, builder)
    windows, value = windows_of(case), value_serde(execution)
    source = source_topic("in", drops_nulls(case), execution)
    sink: Topic[Windowed[str], Any] = Topic("out", windowed(TEXT, windows), value, nulls="pass")
    records: Any = builder.add_source("in", source)
    results: Any = builder.add_processor("windows", aggregation(case, execution, "state"), records)
    builder.add_sink("out", sink, suppressed(builder, case, execution, results, ""))
    return Built(builder.build(), sink)


def _join(case: Case, execution: Execution, builder: TopologyBuilder) -> Built:
    sink: Topic[Any, Any] = Topic("out", TEXT, TEXT, nulls="pass", null_keys="pass")
    builder.add_sink("out", sink, join_topology(case, builder, execution))
    return Built(builder.build(), sink)


def value_serde(execution: Execution) -> Any:
    """Return the serde of values and results.

    Columns have no texts to concatenate. There a record's value is a power of two of its own, so
    that a sum shows which records it contains.
    """
    return INT64 if execution == "columns" else TEXT


def drops_nulls(case: Case) -> bool:
    """Return whether null values are dropped before stream time advances.

    Kafka Streams does this for sliding windows.
    """
    return case.op == "sliding"


def source_topic(
    name: str, drops: bool, execution: Execution, partitioner: Partitioner | None = None
) -> Topic[str, Any]:
    nulls: Any = "drop" if drops else "pass"
    return Topic(name, TEXT, value_serde(execution), nulls=nulls, partitioner=partitioner)


def aggregation(case: Case, execution: Execution, store: str) -> WindowedSupplier[str, Any, Any]:
    """Return the supplier of a case's windows."""
    aggregator: Any = sum_(INT64) if execution == "columns" else CONCATENATION
    emit: Any = on_close() if case.emit == "close" else each_update()
    own = _store(case, store, value_serde(execution))
    supplier: Any = windowed_aggregate(
        windows_of(case), aggregator, store=own, emit=emit, execution=execution
    )
    found: WindowedSupplier[str, Any, Any] = supplier
    return found


def suppressed(
    builder: TopologyBuilder, case: Case, execution: Execution, results: Any, suffix: str
) -> Any:
    """Return the results, suppressed until their windows close if the case requires it."""
    if case.emit != "suppress":
        return results
    windows = windows_of(case)
    buffer = buffer_store(
        f"held{suffix}", key=windowed(TEXT, windows), value=value_serde(execution)
    )
    finals: Any = suppress(until_window_closes(windows), store=buffer)
    return builder.add_processor(f"finals{suffix}", finals, results)


def windows_of(case: Case) -> Any:
    options = case.options
    grace = milliseconds(options.get("grace", 0))
    match case.op:
        case "tumbling":
            return TumblingWindows(milliseconds(options["size"]), grace=grace)
        case "hopping":
            size, advance = milliseconds(options["size"]), milliseconds(options["advance"])
            return HoppingWindows(size, advance, grace=grace)
        case "sliding":
            return SlidingWindows(milliseconds(options["diff"]), grace=grace)
        case "session":
            return SessionWindows(milliseconds(options["gap"]), grace=grace)
        case _:
            raise ValueError(f"case {case.name}: unknown operation {case.op!r}")


def _store(case: Case, name: str, value: Any) -> Any:
    match case.op:
        case "session":
            return session_store(name, key=TEXT, value=value)
        case "sliding":
            return sliding_store(name, key=TEXT, value=value)
        case _:
            return window_store(name, key=TEXT, value=value)
