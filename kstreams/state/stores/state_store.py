"""What a store is made of: a face for users, and rows for the engine."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ("StateStore", "StoreRows")

R = TypeVar("R", bound="StoreRows")
"""The rows that are asked for."""
R_co = TypeVar("R_co", covariant=True)
"""What the engine does with a store."""


class StateStore(Generic[R_co]):
    """The base of the stores that processors and views are given.

    A store shows what users do with it. What only the engine does (index timers, close
    windows, rebuild rows) is done with its rows: see `StoreRows.of`.

    Args:
        rows: What the store is kept in.

    Source: `org.apache.kafka.streams.processor.StateStore`.
    """

    def __init__(self, rows: R_co) -> None:
        self._rows = rows


class StoreRows:
    """The base of what the engine does with stores, a class for each kind."""

    @classmethod
    def of(cls: type[R], store: StateStore[R]) -> R:
        """Return the rows of a store.

        Raises:
            TypeError: The store is of another kind.
        """
        found = store._rows  # the one way from a store to its rows
        if not isinstance(found, cls):
            raise TypeError(f"expected a store with {cls.__name__}, got {type(store).__name__}")
        return found
