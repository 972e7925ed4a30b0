"""Suppliers that know what is wrong with what they were made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

__all__ = ("CheckedSupplier", "problems_of")


@runtime_checkable
class CheckedSupplier(Protocol):
    """A supplier that `TopologyBuilder.build` asks for problems of its own."""

    def problems(self) -> Sequence[str]:
        """Return what is wrong, each in a sentence that says what to do; none if all is well."""
        ...


def problems_of(supplier: object) -> tuple[str, ...]:
    """Return what a supplier says is wrong; a class or function says nothing."""
    if isinstance(supplier, type) or not isinstance(supplier, CheckedSupplier):
        return ()
    return tuple(supplier.problems())
