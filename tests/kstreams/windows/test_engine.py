"""Kinds of windows that are defined in this module alone: each brings its own engine."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kstreams.windows
from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import fold, sum_
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close, once_per_batch
from kstreams.errors import TopologyError
from kstreams.state.stores.session.kind import SESSION
from kstreams.stores import session_store, window_store
from kstreams.windows import SessionWindows, windowed, windowed_aggregate
from kstreams.windows.columns.assignment import Assigner, searched
from kstreams.windows.columns.session import SessionWindowColumns
from kstreams.windows.engine import WindowEngine, engine_of, never_closes, time_engine
from kstreams.windows.keys.serdes import SpanWindowedSerde
from kstreams.windows.records.bounds import Spans
from kstreams.windows.records.session import SessionAggregate
from kstreams_testing.driver import TopologyTestDriver
from tests.kstreams.graph.execution.test_execution import execution
from tests.support.windows.windowed_runs import SOURCE

ROWS = [("a", 1, 0), ("b", 2, 3), ("a", 4, 4), ("a", 8, 5), ("b", 16, 21), ("a", 32, 22)]


@dataclass(frozen=True)
class Sevens:
    """Windows of seven milliseconds that begin at 2, 9, 16, and so on."""

    close_delay_ms: int = 0
    close_interval_ms: int = 1

    def starts(self, timestamp_ms: int) -> list[int]:
        return [(timestamp_ms - 2) // 7 * 7 + 2] if timestamp_ms >= 2 else []

    def end(self, start_ms: int) -> int:
        return start_ms + 7


@dataclass(frozen=True)
class SevensByColumns(Sevens):
    """The same windows with an engine."""

    @property
    def engine(self) -> WindowEngine:
        return time_engine(self, lambda: Assigner(searched(self), lambda closed: closed - 6))


@dataclass(frozen=True)
class Visits:
    """Sessions, by a class that no module of the library knows."""

    gap_ms: int = 5
    close_delay_ms: int = 6
    close_interval_ms: int = 1

    @property
    def engine(self) -> WindowEngine:
        serde = partial(SpanWindowedSerde, kind="session")
        return WindowEngine(
            SESSION, SessionAggregate, SessionWindowColumns, serde, merges_states=True
        )


def results(windows: Any, store: Any, how: Any, emit: Any) -> tuple[str | None, list[Any]]:
    """Return the shown execution of an aggregation, and its results for `ROWS`."""
    supplier: Any = windowed_aggregate(windows, sum_(INT64), store=store, emit=emit, execution=how)
    builder = TopologyBuilder("t")
    node: Any = builder.add_processor("sums", supplier, builder.add_source("in", SOURCE))
    sink: Any = Topic("out", windowed(TEXT, windows), INT64, nulls="pass")
    builder.add_sink("out", sink, node)
    topology = builder.build()
    with TopologyTestDriver(topology) as driver:
        for key, value, time in ROWS:
            driver.write(SOURCE, key, value, timestamp=time)
        driver.run()
        found = [(record.key, record.value, record.timestamp) for record in driver.read(sink)]
    return execution(topology, "sums"), found


@pytest.mark.parametrize("emit", [each_update(), once_per_batch(), on_close()])
def test_custom_windows_with_assigner_give_same_results_by_columns_as_by_records(emit: Any) -> None:
    store = window_store("state", key=TEXT, value=INT64)
    by_records = results(SevensByColumns(), store, "records", emit)
    by_columns = results(SevensByColumns(), store, "columns", emit)
    assert by_records[0] == "records (execution='records')"
    assert by_columns == ("columns", by_records[1])
    assert len(by_columns[1]) >= 2


def test_custom_windows_without_engine_run_by_records() -> None:
    store = window_store("state", key=TEXT, value=INT64)
    shown, found = results(Sevens(), store, "auto", once_per_batch())
    assert shown == "records (windows of the kind Sevens have no column form)"
    assert found == results(SevensByColumns(), store, "auto", once_per_batch())[1]


@pytest.mark.parametrize("how", ["records", "columns"])
@pytest.mark.parametrize("emit", [each_update(), once_per_batch(), on_close()])
def test_custom_windows_with_session_engine_give_results_of_session_windows(
    emit: Any, how: str
) -> None:
    store = session_store("state", key=TEXT, value=INT64)
    known = results(SessionWindows(milliseconds(5)), store, how, emit)
    assert results(Visits(), store, how, emit) == known


def test_custom_windows_with_merging_engine_refuse_aggregator_without_merge() -> None:
    store = session_store("state", key=TEXT, value=INT64)
    alone: Any = fold(INT64, int, lambda state, _: state)
    windows: Any = Visits()
    with pytest.raises(TopologyError, match="Visits merge states"):
        windowed_aggregate(windows, alone, store=store)


def test_custom_windows_refuse_store_of_another_kind_than_their_engine() -> None:
    windows: Any = Visits()
    with pytest.raises(TopologyError, match="Visits need"):
        windowed_aggregate(windows, sum_(INT64), store=window_store("state", key=TEXT, value=INT64))


def test_engine_attribute_of_wrong_type_is_ignored() -> None:
    class Diesel(Sevens):
        engine = "diesel"

    assert engine_of(Diesel()).by_columns is None


def test_custom_windows_without_end_never_close() -> None:
    class Endless(Sevens):
        @property
        def engine(self) -> WindowEngine:
            return time_engine(self, never_ends=True, spans=Spans(7))

    assert never_closes(Endless())
    assert not never_closes(Sevens())


def test_no_module_imports_a_window_kind_except_list_of_kinds_and_typed_overloads() -> None:
    root = Path(next(iter(kstreams.windows.__path__)))
    importing = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("kstreams.windows.kinds")
    }
    assert importing == {"__init__.py", "aggregate.py"}
