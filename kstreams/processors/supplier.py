"""Suppliers: they create processors, and declare stores and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from kstreams.errors import TopologyError
from kstreams.parameters import Parameters
from kstreams.processors.processor import BaseProcessor, KIn, KOut, VIn, VOut
from kstreams.state.stores.spec import StoreSpec

__all__ = (
    "CheckedSupplier",
    "KeyedSupplier",
    "OneStoreSupplier",
    "ParameterSupplier",
    "StoreParameters",
    "StoreSupplier",
    "Supplier",
    "ValuedSupplier",
    "keyed_stores_of",
    "problems_of",
    "store_parameters_of",
    "stores_of",
    "valued_stores_of",
)


class Supplier(Protocol[KIn, VIn, KOut, VOut]):
    """Creates a new processor at each call; an argument of `TopologyBuilder.add_processor`.

    A processor class without constructor arguments is a supplier, and so is any function that
    returns a new processor. A function that creates suppliers should have this return type, not
    `Callable[[], ...]`: type checkers then infer its type variables, and those of its lambda
    arguments, from the parents of the node. (In pyright, a named function whose annotated types are
    wider than the parents' types also widens the node's types; a lambda that calls it does not.)

    Source: `org.apache.kafka.streams.processor.api.ProcessorSupplier`.
    """

    def __call__(self) -> BaseProcessor[KIn, VIn, KOut, VOut]:
        """Return a new processor."""
        ...


@runtime_checkable
class StoreSupplier(Supplier[KIn, VIn, KOut, VOut], Protocol[KIn, VIn, KOut, VOut]):
    """A supplier that declares stores, which `TopologyBuilder.add_processor` adds to the node.

    A processor class with a class attribute `stores` is such a supplier, too.

    Source: `org.apache.kafka.streams.processor.ConnectedStoreProvider#stores`.
    """

    @property
    def stores(self) -> Sequence[StoreSpec[object]]:
        """Return the definitions of the stores that the processors use."""
        ...


def stores_of(
    name: str, supplier: object, stores: Sequence[StoreSpec[object]]
) -> tuple[StoreSpec[object], ...]:
    """Return a node's stores without duplicates: its supplier's stores, then the given ones.

    Raises:
        TopologyError: The supplier's attribute `stores` does not contain store definitions.
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
        f"the supplier of node {name!r} has an attribute 'stores', expected a tuple of store "
        f"definitions, got {brought!r}",
        hint="use another name for the attribute, unless the supplier defines stores.",
    )


StoreParameters = Mapping[str, Parameters]
"""Parameters by store name."""


@runtime_checkable
class ParameterSupplier(Protocol):
    """A supplier with parameters on which its stored rows depend; checkpoints record them."""

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the parameters by store name."""
        ...


def store_parameters_of(supplier: object) -> StoreParameters:
    """Return the parameters that a supplier declares; empty for a class or plain function."""
    if isinstance(supplier, type) or not isinstance(supplier, ParameterSupplier):
        return {}
    return supplier.store_parameters


@runtime_checkable
class CheckedSupplier(Protocol):
    """A supplier that checks its arguments; `TopologyBuilder.build` raises the found problems."""

    def problems(self) -> Sequence[str]:
        """Return the problems, each as a sentence with the next step; empty without problems."""
        ...


@runtime_checkable
class KeyedSupplier(Protocol):
    """A supplier that declares the stores whose keys are the keys of the records."""

    @property
    def keyed_stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the stores whose keys are the keys of the records."""
        ...


class OneStoreSupplier:
    """Base class of suppliers with one store, whose keys are the keys of the records.

    Attributes:
        store: The definition of the store.
    """

    store: StoreSpec[Any]

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store."""
        return (self.store,)

    @property
    def keyed_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store."""
        return self.stores


def keyed_stores_of(supplier: object) -> tuple[StoreSpec[object], ...]:
    """Return the stores that a supplier declares to be keyed by record key; empty if none.

    A custom processor may use any keys in its stores.
    """
    if isinstance(supplier, type) or not isinstance(supplier, KeyedSupplier):
        return ()
    return supplier.keyed_stores


@runtime_checkable
class ValuedSupplier(Protocol):
    """A supplier that declares the stores whose values are the values of the records."""

    @property
    def valued_stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the stores whose values are the values of the records."""
        ...


def valued_stores_of(supplier: object) -> tuple[StoreSpec[object], ...]:
    """Return the stores that a supplier declares to contain record values; empty if none."""
    if isinstance(supplier, type) or not isinstance(supplier, ValuedSupplier):
        return ()
    return supplier.valued_stores


def problems_of(supplier: object) -> tuple[str, ...]:
    """Return the problems of a supplier; empty for a class or plain function."""
    if isinstance(supplier, type) or not isinstance(supplier, CheckedSupplier):
        return ()
    return tuple(supplier.problems())
