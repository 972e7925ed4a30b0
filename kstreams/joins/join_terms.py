"""Settings of joins, recorded so that an upgrade can report changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

__all__ = ("JoinTerms", "Terms", "terms_of")

Terms = Mapping[str, "str | int"]
"""`how`: inner, left or outer. Windowed joins also have `before`, `after` and `grace`, in ms."""


@runtime_checkable
class JoinTerms(Protocol):
    """A join supplier that declares the settings of its join."""

    @property
    def join_terms(self) -> Terms:
        """Return the settings."""
        ...


def terms_of(supplier: object) -> Terms:
    """Return the join settings of a supplier; empty if it declares none."""
    if isinstance(supplier, type) or not isinstance(supplier, JoinTerms):
        return {}
    return dict(supplier.join_terms)
