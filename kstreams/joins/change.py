"""The records on edges of tables: a row before and after a change."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

__all__ = ("Change",)

V_co = TypeVar("V_co", covariant=True)
"""Type of a table's values."""


class Change(Generic[V_co]):
    """One row of a table, as it changes; immutable.

    A plain class with slots, as `Record` is: one is made for each record that reaches a table.

    Args:
        new: The value from now on; None is no row.
        old: The value up to now; None is no row.
        latest: False for a version of a versioned table that is older than its newest: the
            present value is then not changed.

    Source: `org.apache.kafka.streams.kstream.internals.Change`.
    """

    __slots__ = ("latest", "new", "old")

    def __init__(self, new: V_co | None, old: V_co | None, latest: bool = True) -> None:
        self.new: Final = new
        self.old: Final = old
        self.latest: Final = latest

    def __eq__(self, other: object) -> bool:
        """Compare all parts."""
        if not isinstance(other, Change):
            return NotImplemented
        return (self.new, self.old, self.latest) == (other.new, other.old, other.latest)

    def __hash__(self) -> int:
        """Hash all parts; fails when one is not hashable."""
        return hash((self.new, self.old, self.latest))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by constructor arguments."""
        return Change, (self.new, self.old, self.latest)

    def __repr__(self) -> str:
        """Show `latest` only where it is False."""
        late = "" if self.latest else ", latest=False"
        return f"Change(new={self.new!r}, old={self.old!r}{late})"
