"""A datum, and what is wrong with it and where."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ("MAX_DEPTH", "Datum", "Json", "Malformed", "TooDeepError")

Datum: TypeAlias = Any
"""A value of whatever type a schema says."""

Json: TypeAlias = Any
"""What JSON says: dicts, lists, text, numbers, bools and None."""

MAX_DEPTH = 128
"""How many records may be in one another, where a schema names itself."""


class Malformed(ValueError):
    """A value does not fit its schema, or bytes do not.

    Args:
        problem: What was expected, and what is there.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self._path = ""

    def within(self, place: str) -> Malformed:
        """Return itself, with the place of the part that is wrong put in front."""
        joint = "" if not self._path or self._path.startswith("[") else "."
        self._path = f"{place}{joint}{self._path}"
        return self

    def __str__(self) -> str:
        """Name the field and the problem."""
        return f"field {self._path!r}: {self.problem}" if self._path else self.problem


class TooDeepError(Malformed):
    """Records lie in records beyond all measure."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_DEPTH} records lie in one another")

    def within(self, place: str) -> Malformed:  # hundreds of them say nothing
        """Return itself; the path would be as long as it is deep."""
        return self
