"""Creation of objects from columns: for all records at once, field by field."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa

from kstreams.serde import objects_of
from kstreams_avro.nodes import (
    Array,
    Enum,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    is_null,
)

__all__ = ("Objects", "objects_from")

Objects: TypeAlias = Callable[[pa.Array], list[Any]]
"""Creates the objects of a column; None for null."""


def objects_from(node: Node) -> Objects:
    """Return a function that creates Python objects from a column of an Avro type.

    The type must support columns: see `Step.arrow`.
    """
    match node:
        case Primitive() | Fixed() if node.conversion is not None:
            return _around_nulls(node.conversion.objects)
        case Fixed():
            return lambda column: objects_of(column.cast(pa.binary()))
        case Primitive():
            return objects_of
        case Enum():
            members = node.members
            if not members:
                return objects_of
            known: dict[str | None, Any] = {None: None}
            known |= {str(symbol): member for symbol, member in members.items()}
            return lambda column: [known[symbol] for symbol in objects_of(column)]
        case Union():
            others = [branch for branch in node.branches if not is_null(branch)]
            return objects_from(others[0]) if others else objects_of
        case Array():
            return _around_nulls(_lists(objects_from(node.items), node.container))
        case Map():
            return _around_nulls(_dicts(objects_from(node.values)))
        case Record():
            return _around_nulls(_records(node))


def _around_nulls(make: Objects) -> Objects:
    """Return a function that maps null to None, and other values with `make`."""

    def objects(column: pa.Array) -> list[Any]:
        if not column.null_count:
            return make(column)
        found = iter(make(column.drop_null()))
        return [next(found) if valid else None for valid in objects_of(column.is_valid())]

    return objects


def _lists(make: Objects, container: type) -> Objects:
    def objects(column: pa.Array) -> list[Any]:
        bounds = objects_of(column.offsets)
        items = make(column.values)
        slices = [items[start:end] for start, end in pairwise(bounds)]
        return slices if container is list else list(map(container, slices))

    return objects


def _dicts(make: Objects) -> Objects:
    def objects(column: pa.Array) -> list[Any]:
        bounds = objects_of(column.offsets)
        pairs = list(zip(objects_of(column.keys), make(column.items), strict=True))
        return [dict(pairs[start:end]) for start, end in pairwise(bounds)]

    return objects


def _records(node: Record) -> Objects:
    makers = [objects_from(field.type) for field in node.fields]
    names = [field.name for field in node.fields]
    shape = node.shape
    keys = names if shape is None else list(shape.attributes)

    def objects(column: pa.Array) -> list[Any]:
        if not makers:
            none: dict[str, Any] = {}
            return [dict(none) if shape is None else shape.cls() for _ in range(len(column))]
        fields = [make(part) for make, part in zip(makers, column.flatten(), strict=True)]
        if shape is not None and shape.by_position:
            return list(map(shape.cls, *fields))
        rows = [dict(zip(keys, values, strict=True)) for values in zip(*fields, strict=True)]
        return rows if shape is None or shape.cls is dict else [shape.cls(**row) for row in rows]

    return objects
