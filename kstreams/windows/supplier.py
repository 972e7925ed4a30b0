"""The supplier of a windowed aggregation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Generic, TypeVar

from kstreams._types import K
from kstreams.aggregators.aggregator import aggregator_parameters
from kstreams.parameters import Parameters, parameters_of
from kstreams.processors.column_form import Need, NodeForm, Output
from kstreams.processors.emission import AtMostEvery, Emission, Every, OncePerBatch
from kstreams.processors.processor import BaseProcessor
from kstreams.processors.supplier import StoreParameters
from kstreams.serde.windowed_key import WindowedKeySerde
from kstreams.state.stores.spec import StoreSpec
from kstreams.times import span_ms
from kstreams.windowed import Windowed
from kstreams.windows.engine import WindowEngine, engine_of, never_closes
from kstreams.windows.plan import AggregationPlan, Routes

__all__ = ("WindowedSupplier",)

V = TypeVar("V", contravariant=True)
"""Type of the input values."""
A = TypeVar("A", covariant=True)
"""Type of the results."""


@dataclass(frozen=True)
class WindowedSupplier(Generic[K, V, A]):
    """Creates the processors of a windowed aggregation, and declares their stores.

    `windowed_aggregate` creates it; pass it to `TopologyBuilder.add_processor` or to `split_late`.

    Args:
        plan: The aggregation.
    """

    plan: AggregationPlan

    def __call__(self) -> BaseProcessor[K, V, Windowed[K], A]:
        """Return a new processor."""
        return self._engine.by_records(self.plan)

    @property
    def _engine(self) -> WindowEngine:
        return engine_of(self.plan.windows)

    @property
    def stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the store of states, and the store of buffered changes, if any."""
        held = self.plan.emission_store
        return (self.plan.store,) if held is None else (self.plan.store, held)

    @property
    def keyed_stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the store of states, whose keys are the keys of the records."""
        return (self.plan.store,)

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the parameters of windows and aggregator, on which stored rows depend."""
        plan, held = self.plan, self.plan.emission_store
        own = {**parameters_of("windows", plan.windows), **aggregator_parameters(plan.aggregator)}
        found: dict[str, Parameters] = {plan.store.name: own}
        if held is not None and isinstance(plan.emit, (Every, AtMostEvery)):
            found[held.name] = {**own, "emit.interval_ms": plan.emit.interval_ms}
        return found

    @property
    def window_emission(self) -> Emission:
        """Return the emission of results."""
        return self.plan.emit

    @property
    def windowed_key(self) -> WindowedKeySerde[Windowed[K]] | None:
        """Return the serde of the keys of results; None if custom windows have another one."""
        made = self._engine.windowed(self.plan.store.key)
        return made if isinstance(made, WindowedKeySerde) else None

    @property
    def grace_ms(self) -> int | None:
        """Return the grace (ms) of the windows; None if stream time never closes them.

        The grace of custom windows without an attribute `grace` is their close delay.
        """
        windows = self.plan.windows
        if never_closes(windows):
            return None
        grace: timedelta | None = getattr(windows, "grace", None)
        delay: int = windows.close_delay_ms
        return delay if grace is None else span_ms("grace", grace)

    @property
    def needs_end_of_run(self) -> bool:
        """Return whether results are forwarded only at the end of a run that closes windows."""
        return self.plan.emits_on_close and never_closes(self.plan.windows)

    @property
    def column_form(self) -> NodeForm:
        """Return the description of the aggregation's columnar execution, for the planner."""
        plan = self.plan
        return NodeForm(
            (Need.RECORDS,),
            partial(self._engine.column_processor, plan),
            output=Output.RESULTS,
            execution=plan.execution,
            at_batch_end=isinstance(plan.emit, OncePerBatch) and plan.routes is None,
        )

    def problems(self) -> tuple[str, ...]:
        """Return the problems of the window definition, each as a sentence with the next step."""
        return self._engine.problems

    def routed(self, routes: Routes) -> WindowedSupplier[K, V, A]:
        """Return a copy of this supplier with child nodes for results and late records."""
        return replace(self, plan=replace(self.plan, routes=routes))
