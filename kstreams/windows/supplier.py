"""The supplier of a windowed aggregation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from kstreams._types import K
from kstreams.aggregators.aggregator import aggregator_parameters
from kstreams.parameters import Parameters, parameters_of
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.column_form import Input, Need, NodeForm, Output, Reason
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.emission import AtMostEvery, Emission, Every, OncePerBatch
from kstreams.processors.processor import BaseProcessor
from kstreams.processors.supplier import StoreParameters
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import Windowed
from kstreams.windows.kinds.hopping import HoppingWindows
from kstreams.windows.kinds.unlimited import never_closes
from kstreams.windows.plan import AggregationPlan, Routes

__all__ = ("WindowedSupplier",)

V = TypeVar("V", contravariant=True)
"""Type of the values that come in."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


@dataclass(frozen=True)
class WindowedSupplier(Generic[K, V, A]):
    """Makes the processors of a windowed aggregation, and brings its stores.

    Made by `windowed_aggregate`; hand it to `TopologyBuilder.add_processor`, or to
    `split_late`.

    Args:
        plan: The aggregation.
        by_records: Makes a processor that aggregates by records.
        by_columns: Makes one that aggregates by columns, or says why there is none.
    """

    plan: AggregationPlan
    by_records: Callable[[AggregationPlan], ClosureProcessor[K, V, Windowed[K], A]]
    by_columns: Callable[[AggregationPlan, Input], ColumnProcessor | Reason]

    def __call__(self) -> BaseProcessor[K, V, Windowed[K], A]:
        """Return a new processor."""
        return self.by_records(self.plan)

    @property
    def stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the store of states, and that of changes that are held back if there is one."""
        held = self.plan.emission_store
        return (self.plan.store,) if held is None else (self.plan.store, held)

    @property
    def keyed_stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the store of states."""
        return (self.plan.store,)

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the windows and the aggregator, on which the rows of each store depend."""
        plan, held = self.plan, self.plan.emission_store
        own = {**parameters_of("windows", plan.windows), **aggregator_parameters(plan.aggregator)}
        found: dict[str, Parameters] = {plan.store.name: own}
        if held is not None and isinstance(plan.emit, (Every, AtMostEvery)):
            found[held.name] = {**own, "emit.interval_ms": plan.emit.interval_ms}
        return found

    @property
    def window_emission(self) -> Emission:
        """Return when results are forwarded."""
        return self.plan.emit

    @property
    def needs_end_of_run(self) -> bool:
        """Return whether no window closes before the end of a run, and results come then only."""
        return self.plan.emits_on_close and never_closes(self.plan.windows)

    @property
    def column_form(self) -> NodeForm:
        """Return the form of an aggregation; without late records, all results are of a batch."""
        plan = self.plan
        return NodeForm(
            (Need.RECORDS,),
            partial(self.by_columns, plan),
            output=Output.RESULTS,
            execution=plan.execution,
            at_batch_end=isinstance(plan.emit, OncePerBatch) and plan.routes is None,
        )

    def problems(self) -> tuple[str, ...]:
        """Return the problems of the definition."""
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
