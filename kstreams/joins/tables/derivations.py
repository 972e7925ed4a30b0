"""Functions for `derive`: the filter and the map of a table's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from kstreams.columns.row_failure import RowsFunction, called

__all__ = ("Kept", "Mapped")


@dataclass(frozen=True)
class Kept(RowsFunction):
    """Returns the value of a row for which a predicate is true; None for other rows."""

    predicate: Callable[[Any, Any], bool]

    def __call__(self, key: object, value: object) -> object:
        """Return the value or None."""
        return value if self.predicate(key, value) else None

    @override
    def rows(self, *columns: Sequence[Any]) -> list[Any]:
        kept = called(bool, called(self.predicate, *columns))
        return [value if true else None for value, true in zip(columns[1], kept, strict=True)]


@dataclass(frozen=True)
class Mapped(RowsFunction):
    """Returns the result of a function of a row's value."""

    function: Callable[[Any], Any]

    def __call__(self, key: object, value: object) -> object:
        """Return the result of the function."""
        return self.function(value)

    @override
    def rows(self, *columns: Sequence[Any]) -> list[Any]:
        return called(self.function, columns[1])
