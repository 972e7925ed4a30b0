"""The two parts of a store: a class for users, and rows for the engine."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ("StateStore", "StoreRows")

R = TypeVar("R", bound="StoreRows")
"""The type of the requested rows."""
R_co = TypeVar("R_co", covariant=True)
"""The engine's operations on a store."""


class StateStore(Generic[R_co]):
    """The base of the stores that processors and views use.

    A store has the operations for users. The operations that only the engine needs (index
    timers, close windows, rebuild rows) belong to the store's rows: see `StoreRows.of`.

    Args:
        rows: The store's rows.

    Source: `org.apache.kafka.streams.processor.StateStore`.
    """

    def __init__(self, rows: R_co) -> None:
        self._rows = rows


class StoreRows:
    """The base of classes with the engine's operations on stores; each kind has such a class."""

    @classmethod
    def of(cls: type[R], store: StateStore[R]) -> R:
        """Return the object with the engine's operations on a store.

        Raises:
            TypeError: The store is of another kind.
        """
        found = store._rows  # the one way from a store to its rows
        if not isinstance(found, cls):
            raise TypeError(
                f"expected a store whose rows are {cls.__name__}, got a {type(store).__name__} "
                f"with {type(found).__name__}"
            )
        return found
