"""`Change`: a table row's value before and after an update."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

__all__ = ("Change",)

V_co = TypeVar("V_co", covariant=True)
"""Type of a table's values."""


class Change(Generic[V_co]):
    """An immutable change of one table row.

    Like `Record`, a plain class with slots for speed: each record of a table creates a `Change`.

    Args:
        new: The value after the change; None if the row is deleted.
        old: The value before the change; None if there was no row.
        latest: False if a versioned table has a newer version of the row, so that the change does
            not affect the row's current value.

    Source: `org.apache.kafka.streams.kstream.internals.Change`.
    """

    __slots__ = ("latest", "new", "old")

    def __init__(self, new: V_co | None, old: V_co | None, latest: bool = True) -> None:
        self.new: Final = new
        self.old: Final = old
        self.latest: Final = latest

    def __eq__(self, other: object) -> bool:
        """Compare the new value, the old value and `latest`."""
        if not isinstance(other, Change):
            return NotImplemented
        return (self.new, self.old, self.latest) == (other.new, other.old, other.latest)

    def __hash__(self) -> int:
        """Hash all fields. Raises `TypeError` if a value is not hashable."""
        return hash((self.new, self.old, self.latest))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by constructor arguments."""
        return Change, (self.new, self.old, self.latest)

    def __repr__(self) -> str:
        """Show `latest` only if it is False."""
        late = "" if self.latest else ", latest=False"
        return f"Change(new={self.new!r}, old={self.old!r}{late})"
