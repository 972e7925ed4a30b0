"""The supplier of a windowed aggregation, and the base of its processors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from kstreams._types import K
from kstreams.durations import milliseconds
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.columns import ColumnProcessor, ColumnSource, Execution
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.processors.emission import (
    AtMostEvery,
    Every,
    OncePerBatch,
)
from kstreams.processors.processor import BaseProcessor
from kstreams.record import Record
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.state.stores.rate_limit.rows import RateLimitRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import NEVER_ENDS, Windowed
from kstreams.windows.columns.states import StatesOf
from kstreams.windows.kinds.contract import Closing
from kstreams.windows.kinds.hopping import HoppingWindows
from kstreams.windows.late import LateCall, late_call
from kstreams.windows.plan import AggregationPlan, Routes
from kstreams.windows.records.closed_early import ClosedEarly
from kstreams.windows.records.emission.batch_end import Change, last_states
from kstreams.windows.records.emission.every import EveryInterval
from kstreams.windows.records.emission.rate_limit import Paced

__all__ = ("WindowedProcessor", "WindowedSupplier")

V = TypeVar("V", contravariant=True)
"""Type of the values that come in."""
A = TypeVar("A", covariant=True)
"""Type of the results."""

_CLEANUP_INTERVAL_MS = 1000
"""Where nothing is emitted on closing, closed windows are deleted at most so often."""


@dataclass(frozen=True)
class WindowedSupplier(Generic[K, V, A]):
    """Makes the processors of a windowed aggregation, and brings its store.

    Made by `windowed_aggregate`; hand it to `TopologyBuilder.add_processor`, or to
    `split_late`.
    """

    plan: AggregationPlan
    kind: Callable[[AggregationPlan], ClosureProcessor[K, V, Windowed[K], A]]
    by_columns: Callable[[AggregationPlan, ColumnSource], ColumnProcessor | str]

    def __call__(self) -> BaseProcessor[K, V, Windowed[K], A]:
        """Return a new processor."""
        return self.kind(self.plan)

    @property
    def stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the store, and that of waiting results if there are any."""
        waiting = self.plan.emission_store
        return (self.plan.store,) if waiting is None else (self.plan.store, waiting)

    @property
    def execution(self) -> Execution:
        """Return how the node is to run."""
        return self.plan.execution

    def column_processor(self, source: ColumnSource) -> ColumnProcessor | str:
        """Return a new processor that works by columns, or why there is none."""
        return self.by_columns(self.plan, source)

    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the definition."""
        windows = self.plan.windows
        if not isinstance(windows, HoppingWindows):
            return ()
        count = windows.windows_of_a_record
        if count <= windows.max_windows:
            return ()
        problem = (
            f"by windows of {windows.size} at an advance of {windows.advance} each record is "
            f"aggregated in {count:,} windows, and {windows.max_windows:,} is the most: advance "
            f"by more, or allow it with HoppingWindows(..., max_windows={count:_})"
        )
        return (problem,)

    def routed(self, routes: Routes) -> WindowedSupplier[K, V, A]:
        """Return this supplier with children named for results and late records."""
        return replace(self, plan=replace(self.plan, routes=routes))


class WindowedProcessor(ClosureProcessor[K, V, Windowed[K], A]):
    """What the aggregations of all kinds of windows share.

    Final results are forwarded by a stream-time punctuator, behind the record that closed
    the windows. What is in the store has not been forwarded yet: nothing else is kept.
    """

    keeps_key: ClassVar[bool] = True  # a windowed key stays in the partition of its key

    def __init__(self, plan: AggregationPlan) -> None:
        self._result = plan.aggregator.result
        self._waiting: Any = plan.emission_store
        self._paced: Paced | None = None
        if self._waiting is not None:
            plan = replace(plan, aggregator=StatesOf(plan.aggregator))
        self.plan = plan

    def init(self, context: ProcessorContext[Windowed[K], A]) -> None:
        """Put the closure in place of `process`."""
        self._own = context
        lateness_times: Any = ClosedEarly(context)
        super().init(context if context.close_time <= context.stream_time else lateness_times)
        if self._paced is not None:
            self.process = self._paced.around(self.process)  # type: ignore[method-assign, assignment]

    def outputs(
        self,
        context: ProcessorContext[Windowed[K], A],
        window_of: Callable[[tuple[Any, ...]], Windowed[K]],
    ) -> tuple[Callable[[Record[Windowed[K], A]], None], Callable[[Change], None] | None, LateCall]:
        """Return what takes results, what notes changes in its place, and what takes late records.

        Changes are noted, rather than results forwarded, where a batch's end tells the last
        one of each window; None elsewhere. Where changes wait beyond the batch, "results" are
        the aggregator's states.

        Args:
            context: The node's.
            window_of: Makes a window of what a change begins with.
        """
        plan, routes = self.plan, self.plan.routes
        late = late_call(context, plan.windows.close_delay_ms, routes)
        forward: Callable[[Record[Windowed[K], A]], None] = (
            context.forward if routes is None else partial(context.forward_to, routes.results)
        )
        match plan.emit:
            case OncePerBatch():
                release = last_states(plan.store.key, window_of, self._result, forward)
                return forward, context.hold(release), late
            case Every(interval_ms=interval):
                store: EmitBufferRows[Any, Any] = EmitBufferRows.of(context.store(self._waiting))
                gate = EveryInterval(self._own, store, interval, self._result, forward)
                context.on_end_of_run(partial(gate.release, None))
                return gate.take, None, late
            case AtMostEvery(interval_ms=interval):
                limits: RateLimitRows[Any, Any] = RateLimitRows.of(context.store(self._waiting))
                self._paced = Paced(self._own, limits, interval, self._result, forward)
                context.on_end_of_run(self._paced.release_all)
                return self._paced.take, None, late
            case _:
                return forward, None, late

    def at_close(
        self,
        context: ProcessorContext[Windowed[K], A],
        call: Callable[[int], None],
        last_end: Callable[[], int | None],
    ) -> None:
        """Have `call(closed_ms)` called when windows may have closed that ended by then.

        Args:
            context: The node's.
            call: Closes windows.
            last_end: Returns the last end of an open window, ms, or None without any.
        """
        windows: Closing = self.plan.windows
        lag, interval = windows.close_delay_ms, windows.close_interval_ms
        if not self.plan.emits_on_close:
            interval = max(interval, lag, _CLEANUP_INTERVAL_MS)
        context.schedule(
            milliseconds(interval),
            PunctuationType.STREAM_TIME,
            lambda now: call(now - lag),
            name="close",
        )

        def close_early() -> None:
            end = last_end()
            if end is not None and end < NEVER_ENDS:
                call(end)
                context.advance_close_time(end + lag)

        context.on_end_of_run(close_early)
