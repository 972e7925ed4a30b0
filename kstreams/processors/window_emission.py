"""Protocols of suppliers of windowed results, and of suppliers that depend on their emission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from kstreams.processors.emission import EachUpdate, Emission
from kstreams.serde.windowed_key import WindowedKeySerde

__all__ = (
    "BelowWindowsSupplier",
    "DelayingSupplier",
    "EndOfRunSupplier",
    "GraceSupplier",
    "WindowEmissionSupplier",
    "WindowedKeySupplier",
    "delays",
    "emission_of",
)


@runtime_checkable
class WindowEmissionSupplier(Protocol):
    """A supplier of windowed results, or of an operator that forwards them by an emission."""

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


@runtime_checkable
class GraceSupplier(Protocol):
    """A supplier whose processors treat records as late that are too far behind stream time."""

    @property
    def grace_ms(self) -> int | None:
        """Return the grace (ms) of windows, or the age (ms) beyond which other records are late.

        The result is None if no record is ever late.
        """
        ...


@runtime_checkable
class DelayingSupplier(Protocol):
    """A supplier of an operator that delays records, such as `suppress`."""

    @property
    def delayed_emission(self) -> Emission | None:
        """Return when records are forwarded; None if the operator does not delay them."""
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


def delays(supplier: object) -> bool:
    """Return whether a supplier's processors forward records when stream time has passed them."""
    emission = emission_of(supplier)
    return emission is not None and not isinstance(emission, EachUpdate)


def emission_of(supplier: object) -> Emission | None:
    """Return when a supplier's processors forward results or delayed records; None if at once."""
    if isinstance(supplier, type):
        return None
    if isinstance(supplier, WindowEmissionSupplier):
        return supplier.window_emission
    return supplier.delayed_emission if isinstance(supplier, DelayingSupplier) else None
