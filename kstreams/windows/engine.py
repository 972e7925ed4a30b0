"""Window engines: everything that is specific to a kind of windows in an aggregation.

A built-in kind has a property `engine`, in its own file in `kinds/`. The engine determines the kind
of store, and creates the processors (by records and by columns) and the serde of windowed keys. No
other module examines the kind of windows. A custom kind only computes starts and ends
(`TimeWindows`); its engine is the engine of windows laid out in time, without columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from kstreams._types import K
from kstreams.aggregators.columns.available import form_or_reason
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.column_form import Input, Reason
from kstreams.processors.columns import ColumnProcessor, ColumnSource
from kstreams.processors.emission import AtMostEvery, Every, OnClose
from kstreams.serde.base import Serde
from kstreams.state.stores.kind import StoreKind
from kstreams.state.stores.window.kind import WindowKind
from kstreams.times import forever, span_ms
from kstreams.windowed import Windowed
from kstreams.windows.columns.assignment import Assigner
from kstreams.windows.columns.time import TimeColumns
from kstreams.windows.contract import Closing, TimeWindows
from kstreams.windows.keys.serdes import TimeWindowedSerde
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.bounds import Spans
from kstreams.windows.records.time import TimeAggregate

__all__ = (
    "ByColumns",
    "ByRecords",
    "KnownWindows",
    "WindowEngine",
    "engine_of",
    "never_closes",
    "time_engine",
    "windowed",
)

_FOREVER_MS = span_ms("forever", forever)

ByRecords: TypeAlias = Callable[[AggregationPlan], ClosureProcessor[Any, Any, Any, Any]]
ByColumns: TypeAlias = Callable[[AggregationPlan, ColumnSource, ColumnForm], ColumnProcessor]


@dataclass(frozen=True)
class WindowEngine:
    """The engine of a kind of windows.

    Args:
        store_kind: The kind of the store of the states.
        by_records: Creates a processor that aggregates by records.
        by_columns: Creates a processor that aggregates by columns; None if there is no columnar
            form.
        windowed: Creates the serde of windowed keys from the serde of the keys.
        in_time: Whether the windows are laid out in time. Only such windows support `every()` and
            states that are objects in their columnar form.
        merges_states: Whether the aggregation merges states, so that the aggregator must support
            it.
        never_ends: Whether the windows have no end.
        spans: The spans in which all times have the same windows, if the kind has such spans.
        problems: The problems of the definition, each as a sentence with the next step.
    """

    store_kind: StoreKind[Any]
    by_records: ByRecords
    by_columns: ByColumns | None
    windowed: Callable[[Serde[Any]], Serde[Windowed[Any]]]
    in_time: bool = False
    merges_states: bool = False
    never_ends: bool = False
    spans: Spans | None = None
    problems: tuple[str, ...] = ()

    def column_processor(self, plan: AggregationPlan, rows: Input) -> ColumnProcessor | Reason:
        """Return a new columnar processor, or the reason why there is none."""
        source, is_every = rows.records, isinstance(plan.emit, Every)
        form = form_or_reason(
            plan.aggregator,
            key=source.key,
            value=source.value,
            stored=plan.store.key,
            objects=self.in_time and self.by_columns is not None and not is_every,
        )
        if isinstance(form, Reason):
            return form
        kind = type(plan.windows).__name__
        if isinstance(plan.emit, AtMostEvery):
            return "at_most_every() processes each record separately"
        if is_every and not self.in_time:
            return f"every() of {kind} has no column form"
        if rows.punctuated and isinstance(plan.emit, (OnClose, Every)):
            return "a stream-time punctuator below it could run before its results, or after them"
        if self.by_columns is None:
            return f"windows of the kind {kind} have no column form"
        return self.by_columns(plan, source, form)


def time_engine(
    windows: TimeWindows,
    assigner: Callable[[], Assigner] | None = None,
    *,
    spans: Spans | None = None,
    windowed: Callable[[Serde[Any]], Serde[Windowed[Any]]] | None = None,
    never_ends: bool = False,
    problems: tuple[str, ...] = (),
) -> WindowEngine:
    """Create the engine of windows laid out in time.

    Args:
        windows: The windows.
        assigner: Creates the assigner of the windows; None for an engine without columns.
        spans: See `WindowEngine`.
        windowed: See `WindowEngine`; by default, encoded keys contain only the start of the window.
        never_ends: See `WindowEngine`.
        problems: See `WindowEngine`.
    """
    return WindowEngine(
        WindowKind("window", windows),
        partial(TimeAggregate, spans=spans),
        None if assigner is None else partial(_time_columns, assigner),
        partial(TimeWindowedSerde, windows=windows) if windowed is None else windowed,
        in_time=True,
        never_ends=never_ends,
        spans=spans,
        problems=problems,
    )


class KnownWindows(Closing, Protocol):
    """Windows of a built-in kind, which have an engine."""

    @property
    def engine(self) -> WindowEngine:
        """The engine of aggregations by these windows."""
        ...


def engine_of(windows: Any) -> WindowEngine:  # noqa: ANN401  # any kind of windows
    """Return the engine of windows; for custom windows, the engine of windows laid out in time."""
    engine = getattr(windows, "engine", None)
    return engine if isinstance(engine, WindowEngine) else time_engine(windows)


def windowed(key: Serde[K], windows: TimeWindows | KnownWindows) -> Serde[Windowed[K]]:
    """Return the serde of windowed keys, in the format of Kafka Streams' topics.

    Windows of one size are encoded as key bytes and start; sessions as key bytes, end and start.
    Calendar windows, which do not exist in Kafka Streams, are encoded as key bytes, start and end.

    Args:
        key: The serde of the keys.
        windows: The windows of the keys, which determine the end of a window.

    Source: `WindowedSerdes.TimeWindowedSerde`, `WindowedSerdes.SessionWindowedSerde`.
    """
    return engine_of(windows).windowed(key)


def never_closes(windows: Closing) -> bool:
    """Return whether stream time never closes the windows: no end, or a grace of `forever`."""
    return engine_of(windows).never_ends or windows.close_delay_ms >= _FOREVER_MS


def _time_columns(
    assigner: Callable[[], Assigner],
    plan: AggregationPlan,
    source: ColumnSource,
    form: ColumnForm,
) -> ColumnProcessor:
    return TimeColumns(plan, source, StampedForm(form), assigner())
