"""The recorded settings of a join, so that an upgrade can show changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

__all__ = ("JoinTerms", "Terms", "terms_of")

Terms = Mapping[str, "str | int"]
"""`how`: inner, left or outer. Of joins in time also `before`, `after`, `grace`, in ms."""


@runtime_checkable
class JoinTerms(Protocol):
    """A supplier of joins that declares their settings."""

    @property
    def join_terms(self) -> Terms:
        """Return the settings."""
        ...


def terms_of(supplier: object) -> Terms:
    """Return the settings of a supplier's joins; empty if it does not declare them."""
    if isinstance(supplier, type) or not isinstance(supplier, JoinTerms):
        return {}
    return dict(supplier.join_terms)
