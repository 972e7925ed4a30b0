"""What is wrong with data, and where in it."""

from __future__ import annotations

__all__ = ("MAX_DEPTH", "Malformed", "TooDeepError")

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

    def within(self, place: str) -> Malformed:  # noqa: ARG002  # hundreds of them say nothing
        """Return itself; the path would be as long as it is deep."""
        return self
