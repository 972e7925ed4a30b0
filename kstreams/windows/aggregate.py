"""Aggregate records by key and window."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from kstreams._types import K, S, V
from kstreams.aggregators.aggregator import Aggregator, can_merge
from kstreams.errors import TopologyError
from kstreams.options import checks_options
from kstreams.processors.columns import Execution
from kstreams.processors.emission import (
    AtMostEvery,
    EachUpdate,
    Emission,
    Every,
    OncePerBatch,
    OnClose,
    once_per_batch,
)
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.sliding.store import SlidingStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.store import WindowStore
from kstreams.windows.contract import TimeWindows
from kstreams.windows.engine import engine_of
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.kinds.sliding import SlidingWindows
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.supplier import WindowedSupplier

__all__ = ("windowed_aggregate",)

A = TypeVar("A")
"""Type of the results."""

_ONCE = once_per_batch()


@overload
def windowed_aggregate(
    windows: TimeWindows,
    aggregator: Aggregator[K, V, S, A],
    *,
    store: StoreSpec[WindowStore[K, S]],
    emit: Emission = ...,
    execution: Execution = ...,
) -> WindowedSupplier[K, V, A]: ...
@overload
def windowed_aggregate(
    windows: SlidingWindows,
    aggregator: Aggregator[K, V, S, A],
    *,
    store: StoreSpec[SlidingStore[K, S]],
    emit: Emission = ...,
    execution: Execution = ...,
) -> WindowedSupplier[K, V, A]: ...
@overload
def windowed_aggregate(
    windows: SessionWindows,
    aggregator: Aggregator[K, V, S, A],
    *,
    store: StoreSpec[SessionStore[K, S]],
    emit: OnClose,
    execution: Execution = ...,
) -> WindowedSupplier[K, V, A]: ...
@overload
def windowed_aggregate(
    windows: SessionWindows,
    aggregator: Aggregator[K, V, S, A],
    *,
    store: StoreSpec[SessionStore[K, S]],
    emit: EachUpdate | OncePerBatch | Every | AtMostEvery = ...,
    execution: Execution = ...,
) -> WindowedSupplier[K, V, A | None]: ...
@checks_options
def windowed_aggregate(
    windows: TimeWindows | SlidingWindows | SessionWindows,
    aggregator: Aggregator[Any, Any, Any, Any],
    *,
    store: StoreSpec[Any],
    emit: Emission = _ONCE,
    execution: Execution = "auto",
) -> WindowedSupplier[Any, Any, Any]:
    """Aggregate records by key and window in event time; the store is added to the topology.

    The timestamp of a result is the highest timestamp of its window's records (of a session, the
    session's end). Stream time belongs to the task: a window accepts records until stream time has
    passed the window's end by the grace. Its state is kept until then; with `on_close()` until its
    final result is forwarded, however far stream time jumps. A later record is counted as dropped
    for the reason `late`, once for each window (once for sliding windows and sessions); see
    `split_late`. Also dropped are records with null keys (`null-key`), for sliding windows records
    with null values (`null-value`), and records whose time is in no window (`no-window`).

    A session that is merged into another is deleted first: a record with value None and the
    session's end as timestamp. `kstreams.windows.rules` has all rules.

    Args:
        windows: The kind of windows: `TumblingWindows`, `HoppingWindows`, `CalendarWindows`,
            `UnlimitedWindows` or custom `TimeWindows` with a `window_store`; `SlidingWindows` with
            a `sliding_store`; `SessionWindows` with a `session_store`.
        aggregator: The aggregation of a window's records.
        store: The store; its `value` is the aggregator's `state`.
        emit: The emission of results: `once_per_batch()` (the default), `each_update()`,
            `on_close()`, `every(interval)` or `at_most_every(interval)`. The last two buffer
            results in a second store, `<store>-waiting`.
        execution: `auto` aggregates by columns if the results are the same: built-in aggregators of
            numbers, directly below sources, with built-in windows; not with `at_most_every`, and
            with `every` not for sessions and sliding windows. `records` aggregates by records.
            `columns` is an error in `build()` if columns are not possible. `Topology.describe`
            shows the execution and the reason.

    Raises:
        TopologyError: The store is of another kind or has other windows, its value serde is not the
            aggregator's, or the aggregator of sessions or sliding windows cannot merge states.

    Example:
        >>> from kstreams import INT64, TEXT
        >>> from kstreams.aggregators import count
        >>> from kstreams.durations import minutes, seconds
        >>> from kstreams.stores import window_store
        >>> from kstreams.windows import TumblingWindows
        >>> per_minute = windowed_aggregate(
        ...     TumblingWindows(minutes(1), grace=seconds(10)),
        ...     count(),
        ...     store=window_store("per-minute", key=TEXT, value=INT64),
        ... )

    Source: `TimeWindowedKStream#aggregate`, `SessionWindowedKStream#aggregate`. Differs where Kafka
    Streams breaks its own rules: final results are neither lost when stream time jumps nor
    repeated, and an out-of-order record gets all its windows.
    """
    engine = engine_of(windows)
    check_kind(store, engine.store_kind, f"{type(windows).__name__} need")
    if store.value != aggregator.state:
        raise TopologyError(
            f"store {store.name!r} holds values of {store.value.name}, but the aggregator's "
            f"state is {aggregator.state.name}",
            hint="define the store with value=aggregator.state.",
        )
    if engine.merges_states and not can_merge(aggregator):
        raise TopologyError(
            f"{type(windows).__name__} merge states, and the aggregator of store {store.name!r} "
            "has no merge function",
            hint="pass a merge function: fold(..., merge=lambda earlier, later: ...).",
        )
    return WindowedSupplier(AggregationPlan(windows, aggregator, store, emit, execution))
