"""Suppliers that bring the stores of their processors with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from kstreams.errors import TopologyError
from kstreams.processors.processor import KIn, KOut, VIn, VOut
from kstreams.processors.supplier import Supplier
from kstreams.state.stores.spec import StoreSpec

__all__ = ("StoreSupplier", "stores_of")


@runtime_checkable
class StoreSupplier(Supplier[KIn, VIn, KOut, VOut], Protocol[KIn, VIn, KOut, VOut]):
    """A supplier with stores: `TopologyBuilder.add_processor` adds them to the node's.

    A processor class with a class attribute `stores` is one too.

    Source: `org.apache.kafka.streams.processor.ConnectedStoreProvider#stores`.
    """

    @property
    def stores(self) -> Sequence[StoreSpec[object]]:
        """Return the definitions of the stores that the processors use."""
        ...


def stores_of(
    name: str, supplier: object, stores: Sequence[StoreSpec[object]]
) -> tuple[StoreSpec[object], ...]:
    """Return the stores of a node: those its supplier brings, then the given ones, once each.

    Raises:
        TopologyError: The supplier's attribute `stores` holds something else.
    """
    found: list[StoreSpec[object]] = []
    for spec in (*_brought(name, supplier), *stores):
        if spec not in found:
            found.append(spec)
    return tuple(found)


def _brought(name: str, supplier: object) -> tuple[StoreSpec[object], ...]:
    if not isinstance(supplier, StoreSupplier):
        return ()
    brought: object = supplier.stores  # a class of the user's may mean something else by it
    if isinstance(brought, (tuple, list)):
        specs = [spec for spec in brought if isinstance(spec, StoreSpec)]
        if len(specs) == len(brought):
            return tuple(specs)
    raise TopologyError(
        f"the supplier of node {name!r} has an attribute 'stores' that is no tuple of store "
        f"definitions: {brought!r}",
        hint="that name is for the stores that a supplier brings with it; name yours otherwise.",
    )
