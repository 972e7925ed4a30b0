"""The type of data, and the errors of invalid data with the path of the wrong part."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ("MAX_DEPTH", "Datum", "Json", "Malformed", "TooDeepError")

Datum: TypeAlias = Any
"""A value of any type that a schema describes."""

Json: TypeAlias = Any
"""A JSON value: dicts, lists, text, numbers, bools and None."""

MAX_DEPTH = 128
"""The maximum depth of nested records, if a schema refers to itself."""


class Malformed(ValueError):
    """A value or bytes do not match the schema.

    Args:
        problem: The expected and the actual value.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self._path = ""

    def within(self, place: str) -> Malformed:
        """Return this error, with a field name or index prepended to the path."""
        joint = "" if not self._path or self._path.startswith("[") else "."
        self._path = f"{place}{joint}{self._path}"
        return self

    def __str__(self) -> str:
        """Return the path of the wrong part and the problem."""
        return f"field {self._path!r}: {self.problem}" if self._path else self.problem


class TooDeepError(Malformed):
    """Records are nested more deeply than `MAX_DEPTH`."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_DEPTH} records are nested in one another")

    def within(self, place: str) -> Malformed:  # hundreds of them say nothing
        """Return this error without a path, which would be too long."""
        return self
