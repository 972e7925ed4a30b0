"""Suppliers, which create processors, and the stores and checks that belong to them."""

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
    """Makes a new processor at each call; hand it to `TopologyBuilder.add_processor`.

    A processor class with no arguments is one, and so is any function that returns a
    processor. Return this type, not `Callable[[], ...]`, from a function that makes
    suppliers: type checkers then infer its type variables, and those of lambdas given
    to it, from the parents of the node. (A named function that is annotated with wider
    types than the parents have widens the node's types too, in pyright; a lambda around
    it does not.)

    Source: `org.apache.kafka.streams.processor.api.ProcessorSupplier`.
    """

    def __call__(self) -> BaseProcessor[KIn, VIn, KOut, VOut]:
        """Return a new processor."""
        ...


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


StoreParameters = Mapping[str, Parameters]
"""Parameters by the name of a store."""


@runtime_checkable
class ParameterSupplier(Protocol):
    """A supplier with parameters that the rows of its stores depend on; they are recorded."""

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the parameters by store."""
        ...


def store_parameters_of(supplier: object) -> StoreParameters:
    """Return the parameters that a supplier names; a class or function names none."""
    if isinstance(supplier, type) or not isinstance(supplier, ParameterSupplier):
        return {}
    return supplier.store_parameters


@runtime_checkable
class CheckedSupplier(Protocol):
    """A supplier that `TopologyBuilder.build` asks for problems of its own."""

    def problems(self) -> Sequence[str]:
        """Return the problems, each as a sentence with the next step; empty without problems."""
        ...


@runtime_checkable
class KeyedSupplier(Protocol):
    """A supplier that says which of its stores have the keys of the records."""

    @property
    def keyed_stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the stores whose keys are those of the records."""
        ...


class OneStoreSupplier:
    """The base of suppliers of processors with one store, whose keys are those of the records.

    Attributes:
        store: The store.
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
    """Return the stores that a supplier fills by the keys of its records, if it declares them.

    A user's processor may use any keys.
    """
    if isinstance(supplier, type) or not isinstance(supplier, KeyedSupplier):
        return ()
    return supplier.keyed_stores


@runtime_checkable
class ValuedSupplier(Protocol):
    """A supplier that says which of its stores have the values of the records."""

    @property
    def valued_stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the stores whose values are those of the records."""
        ...


def valued_stores_of(supplier: object) -> tuple[StoreSpec[object], ...]:
    """Return the stores that a supplier fills with values of its records, if it declares them."""
    if isinstance(supplier, type) or not isinstance(supplier, ValuedSupplier):
        return ()
    return supplier.valued_stores


def problems_of(supplier: object) -> tuple[str, ...]:
    """Return the problems of a supplier; none for a class or function."""
    if isinstance(supplier, type) or not isinstance(supplier, CheckedSupplier):
        return ()
    return tuple(supplier.problems())
