"""The topology of each operation on windows."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Any

from kstreams import INT64, TEXT, Record, Topic, Topology, TopologyBuilder
from kstreams.aggregators import Aggregator, fold, sum_
from kstreams.processors.columnar import Path
from kstreams.state.buffer_store import buffer_store
from kstreams.state.session_store import session_store
from kstreams.state.sliding_store import sliding_store
from kstreams.state.window_store import window_store
from kstreams.windows import (
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    Windowed,
    each_update,
    milliseconds,
    on_close,
    suppress,
    until_window_closes,
    windowed,
    windowed_aggregate,
)
from tests.conformance.case import Case


@dataclass(frozen=True)
class Built:
    topology: Topology
    source: Topic[str, Any]
    sink: Topic[Windowed[str], Any]


def concatenated(text: str, record: Record[str, str | None]) -> str:
    """Concatenate as Java does, which shows a null value."""
    return text + ("null" if record.value is None else record.value)


CONCATENATION: Aggregator[str, str | None, str, str] = fold(TEXT, str, concatenated, merge=add)


def build(case: Case, path: Path = "record") -> Built:
    """Build a case's topology.

    Columns have no texts to concatenate: on them a record's value is a power of two of its
    own, and a sum says which records are in it once each.
    """
    windows = _windows(case)
    value: Any = INT64 if path == "vector" else TEXT
    aggregator: Any = sum_(INT64) if path == "vector" else CONCATENATION
    store = _store(case, value)
    # Kafka Streams leaves out a null value before its sliding windows look at the time.
    nulls: Any = "drop" if case.op == "sliding" else "pass"
    source: Topic[str, Any] = Topic("in", TEXT, value, nulls=nulls)
    sink: Topic[Windowed[str], Any] = Topic("out", windowed(TEXT, windows), value, nulls="pass")
    builder = TopologyBuilder("conformance")
    emit: Any = on_close() if case.emit == "close" else each_update()
    supplier: Any = windowed_aggregate(windows, aggregator, store=store, emit=emit, path=path)
    records: Any = builder.add_source("in", source)
    results: Any = builder.add_processor("windows", supplier, records)
    if case.emit == "suppress":
        buffer = buffer_store("held", key=windowed(TEXT, windows), value=value)
        finals: Any = suppress(until_window_closes(windows), store=buffer)
        results = builder.add_processor("finals", finals, results)
    builder.add_sink("out", sink, results)
    return Built(builder.build(), source, sink)


def _windows(case: Case) -> Any:
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


def _store(case: Case, value: Any) -> Any:
    match case.op:
        case "session":
            return session_store("state", key=TEXT, value=value)
        case "sliding":
            return sliding_store("state", key=TEXT, value=value)
        case _:
            return window_store("state", key=TEXT, value=value)
