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
    """Names of the children that take results, and late records."""

    results: str
    late: str


@dataclass(frozen=True)
class AggregationPlan:
    """The definition of a windowed aggregation for both engines, without types.

    Args:
        windows: The windows.
        aggregator: The aggregation of a window's records.
        store: The store of the states.
        emit: The emission of results.
        execution: The requested execution of the node.
        routes: The children by their input; None: all children get results.
    """

    windows: Any
    aggregator: Aggregator[Any, Any, Any, Any]
    store: StoreSpec[Any]
    emit: Emission
    execution: Execution = "auto"
    routes: Routes | None = None

    @property
    def emits_on_close(self) -> bool:
        """Whether a result is forwarded when its window closes, and only then."""
        return isinstance(self.emit, OnClose)

    def ends_with_run(self, last_end: int) -> bool:
        """Return whether a run that closes windows closes those of this aggregation.

        Windows without an end close only to emit their final result; other emissions have
        forwarded their results already.

        Args:
            last_end: The last end of an open window, in ms.
        """
        return self.emits_on_close or last_end < NEVER_ENDS

    @property
    def holds_back(self) -> bool:
        """Whether changes are buffered until the end of the batch or longer.

        A session is then deleted at each change, even if its bounds stay: the deletion shows the
        buffer that the session existed before.
        """
        return not isinstance(self.emit, (EachUpdate, OnClose))

    @property
    def emission_store(self) -> StoreSpec[Any] | None:
        """The store of changes that are held back for longer than a batch, if any are."""
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
