"""The emission settings that the builder passes to windowed aggregations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from kstreams.processors.emission import Emission

__all__ = ("BelowWindowsSupplier", "EndOfRunSupplier", "WindowEmissionSupplier")


@runtime_checkable
class WindowEmissionSupplier(Protocol):
    """A supplier of a windowed aggregation."""

    @property
    def window_emission(self) -> Emission:
        """Return when the aggregation forwards the results of its windows."""
        ...


@runtime_checkable
class BelowWindowsSupplier(Protocol):
    """A supplier whose processors depend on the emission of the aggregations above."""

    def below_windows(self, emissions: Mapping[str, Emission]) -> Callable[[], Any]:
        """Return this supplier for a node below aggregations.

        Args:
            emissions: The emission of each windowed aggregation above, by node.
        """
        ...


@runtime_checkable
class EndOfRunSupplier(Protocol):
    """A supplier whose processors may forward results at the end of a run only."""

    @property
    def needs_end_of_run(self) -> bool:
        """Return whether nothing is forwarded unless a run ends and closes its windows."""
        ...
