"""Protocols of suppliers of windowed results, and of suppliers that depend on their emission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from kstreams.processors.emission import Emission
from kstreams.serde.windowed_key import WindowedKeySerde

__all__ = (
    "BelowWindowsSupplier",
    "EndOfRunSupplier",
    "WindowEmissionSupplier",
    "WindowedKeySupplier",
)


@runtime_checkable
class WindowEmissionSupplier(Protocol):
    """A supplier of windowed results, or of an operator that delays them."""

    @property
    def window_emission(self) -> Emission:
        """Return the emission of windowed results."""
        ...


@runtime_checkable
class WindowedKeySupplier(Protocol):
    """A supplier of windowed results, whose windows are known."""

    @property
    def windowed_key(self) -> WindowedKeySerde[Any] | None:
        """Return the serde of the keys of results; None if the windows have a serde of their own.

        The serde has the definition of the windows, and the serde of the keys without windows.
        """
        ...

    @property
    def window_grace_ms(self) -> int | None:
        """Return the grace (ms) of the windows; None if stream time never closes them."""
        ...


@runtime_checkable
class BelowWindowsSupplier(Protocol):
    """A supplier whose processors depend on the emissions of upstream windowed aggregations."""

    def below_windows(self, emissions: Mapping[str, Emission]) -> Callable[[], Any]:
        """Return a copy of this supplier for a node downstream of windowed aggregations.

        Args:
            emissions: The emission of each upstream windowed aggregation, by node.
        """
        ...


@runtime_checkable
class EndOfRunSupplier(Protocol):
    """A supplier whose processors may forward results only at the end of a run."""

    @property
    def needs_end_of_run(self) -> bool:
        """Return True if the node forwards results only at the end of a run that closes windows."""
        ...
