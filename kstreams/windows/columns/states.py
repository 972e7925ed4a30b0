"""An aggregator whose results are its states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.aggregators.aggregator import Aggregator, is_exact
from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = ("StatesOf",)


@dataclass(frozen=True)
class StatesOf:
    """Makes no results yet: for what keeps states until results are due."""

    aggregator: Aggregator[Any, Any, Any, Any]

    @property
    def exact(self) -> bool:
        """Return whether states merge to the same in any order."""
        return is_exact(self.aggregator)

    @property
    def state(self) -> Serde[Any]:
        """Return the serde of states."""
        return self.aggregator.state

    def init(self, record: Record[Any, Any]) -> Any:  # noqa: ANN401  # erased types
        """Return the state of one record."""
        return self.aggregator.init(record)

    def add(self, state: Any, record: Record[Any, Any]) -> Any:  # noqa: ANN401  # erased types
        """Return a state with one record more."""
        return self.aggregator.add(state, record)

    def merge(self, earlier: Any, later: Any) -> Any:  # noqa: ANN401  # erased types
        """Return the state of two parts."""
        return self.aggregator.merge(earlier, later)

    def result(self, state: Any) -> Any:  # noqa: ANN401  # erased types
        """Return the state itself."""
        return state
