"""What a join goes by, recorded so that an upgrade can say what changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

__all__ = ("JoinTerms", "Terms", "terms_of")

Terms = Mapping[str, "str | int"]
"""`how`: inner, left or outer. Of joins in time also `before`, `after`, `grace`, in ms."""


@runtime_checkable
class JoinTerms(Protocol):
    """A supplier of joins that says what they go by."""

    @property
    def join_terms(self) -> Terms:
        """Return it."""
        ...


def terms_of(supplier: object) -> Terms:
    """Return what a supplier's joins go by; empty where it does not say."""
    if isinstance(supplier, type) or not isinstance(supplier, JoinTerms):
        return {}
    return dict(supplier.join_terms)
