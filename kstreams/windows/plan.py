"""The definition of a windowed aggregation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.aggregators.aggregator import Aggregator
from kstreams.processors.columns import Execution
from kstreams.processors.emission import AtMostEvery, EachUpdate, Emission, Every, OnClose
from kstreams.state.stores.emit_buffer.kind import emit_buffer_store
from kstreams.state.stores.rate_limit.kind import rate_limit_store
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import NEVER_ENDS

__all__ = ("AggregationPlan", "Routes")


@dataclass(frozen=True)
class Routes:
    """Names of the child nodes that receive results and late records."""

    results: str
    late: str


@dataclass(frozen=True)
class AggregationPlan:
    """The definition of a windowed aggregation, by records or by columns, without static types.

    Args:
        windows: The windows.
        aggregator: The aggregation of a window's records.
        store: The store of the states.
        emit: The emission of results.
        execution: The requested execution of the node.
        routes: The children for results and late records; None: all children receive results.
    """

    windows: Any
    aggregator: Aggregator[Any, Any, Any, Any]
    store: StoreSpec[Any]
    emit: Emission
    execution: Execution = "auto"
    routes: Routes | None = None

    @property
    def emits_on_close(self) -> bool:
        """Whether a result is forwarded only when its window closes."""
        return isinstance(self.emit, OnClose)

    def ends_with_run(self, last_end: int) -> bool:
        """Return whether a run with `close_windows` closes this aggregation's windows.

        Windows without an end are closed only to emit their final result; with other emissions,
        their results have already been forwarded.

        Args:
            last_end: The last end of an open window, in ms.
        """
        return self.emits_on_close or last_end < NEVER_ENDS

    @property
    def holds_back(self) -> bool:
        """Whether changes are buffered until the end of the batch or longer.

        If so, each change of a session deletes the old session first, even if its bounds do not
        change: the deletion shows that the session existed before the batch.
        """
        return not isinstance(self.emit, (EachUpdate, OnClose))

    @property
    def emission_store(self) -> StoreSpec[Any] | None:
        """The store of changes that are buffered for longer than a batch; None if there is none."""
        name, key, value = f"{self.store.name}-waiting", self.store.key, self.aggregator.state
        spec: StoreSpec[Any]
        match self.emit:
            case Every():
                spec = emit_buffer_store(name, key=key, value=value)
            case AtMostEvery():
                spec = rate_limit_store(name, key=key, value=value)
            case _:
                return None
        changelog = self.store.changelog
        return spec if changelog is None else spec.with_changelog(f"{changelog}-waiting")
