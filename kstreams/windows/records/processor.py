"""The base class of record-by-record windowed aggregation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from kstreams._types import K
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.state_store import StateStore
from kstreams.windowed import Windowed
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.closing import Closer, schedule_closing
from kstreams.windows.records.emission.choice import emitter_of
from kstreams.windows.records.emission.emitter import Emitter, Process
from kstreams.windows.records.lateness import LateCall, LatenessClock, late_call, lateness_clock
from kstreams.windows.rules import DropReason

__all__ = ("WindowedProcessor",)

V = TypeVar("V", contravariant=True)
"""Type of the input values."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


class WindowedProcessor(ClosureProcessor[K, V, Windowed[K], A]):
    """The common part of all windowed aggregations by records; read `bind` first.

    A window kind defines the effect of a record, and of closing, on the states in the store.
    Lateness, the closing of windows (`rules.py`) and the emission of results (`emission/`) are the
    same for all kinds. All state that must outlast a batch is in stores.
    """

    keeps_key: ClassVar[bool] = True  # a windowed key stays in the partition of its key

    def __init__(self, plan: AggregationPlan) -> None:
        self.plan = plan

    def bind(self, context: ProcessorContext[Windowed[K], A]) -> Callable[[Record[K, V]], None]:
        """Return the function that processes a record."""
        plan = self.plan
        store = context.store(plan.store)
        clock = lateness_clock(context)
        late = late_call(context, clock, plan.windows.close_delay_ms, plan.routes)
        emitter = emitter_of(plan, context)
        process, closer = self.aggregation(store, clock, emitter, late, context.drop)
        schedule_closing(context, plan, closer)
        return emitter.around(process)

    @abstractmethod
    def aggregation(
        self,
        store: StateStore[Any],
        clock: LatenessClock,
        emitter: Emitter,
        late: LateCall,
        drop: Callable[[DropReason], None],
    ) -> tuple[Process, Closer]:
        """Return the function that processes a record, and the object that closes windows.

        Args:
            store: The store of the states.
            clock: The clock that determines lateness.
            emitter: Receives changes of windows; with `on_close()`, final states.
            late: Receives late records.
            drop: Counts other dropped records, by reason.
        """
