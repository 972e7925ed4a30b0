"""Results of named aggregators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NoReturn, TypeVar

__all__ = ("NamedResults",)

A = TypeVar("A")
"""Type of the results."""


class NamedResults(Generic[A]):
    """The results of `combine(name=aggregator, ...)`: `results.name`, or `results["name"]`.

    Objects are immutable, and equal if names and results are equal.

    Args:
        results: The results by name.
    """

    __slots__ = ("_results",)

    _results: dict[str, A]

    def __init__(self, results: Mapping[str, A]) -> None:
        object.__setattr__(self, "_results", dict(results))

    def __getattr__(self, name: str) -> A:
        """Return the result with a name; raises `AttributeError` if there is none."""
        if name.startswith("_") or name not in self._results:
            raise AttributeError(name)
        return self._results[name]

    def __getitem__(self, name: str) -> A:
        """Return the result with a name; raises `KeyError` if there is none."""
        return self._results[name]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Raise `AttributeError`: results are immutable."""
        raise AttributeError(f"results are immutable: cannot set {name!r}")

    def as_dict(self) -> dict[str, A]:
        """Return the results by name, in the order of the names in the call of `combine`."""
        return dict(self._results)

    def __eq__(self, other: object) -> bool:
        """Compare names and results."""
        return isinstance(other, NamedResults) and self._results == other.as_dict()

    def __hash__(self) -> int:
        """Hash names and results."""
        return hash(frozenset(self._results.items()))

    def __repr__(self) -> str:
        """Return the names and results."""
        shown = (f"{name}={value!r}" for name, value in self._results.items())
        return f"NamedResults({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the results."""
        return NamedResults, (self._results,)
