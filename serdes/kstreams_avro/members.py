"""Access to msgspec's descriptions of types."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TypeAlias, get_type_hints

import msgspec
from msgspec import inspect

from kstreams_avro.nodes import Shape

__all__ = ("ARRAYS", "RECORDS", "RecordType", "plain_type", "record_fields", "shape_of", "shown")

RecordType: TypeAlias = (
    inspect.StructType | inspect.DataclassType | inspect.TypedDictType | inspect.NamedTupleType
)
"""Python types with fields, as msgspec describes them."""

RECORDS = (
    inspect.StructType,
    inspect.DataclassType,
    inspect.TypedDictType,
    inspect.NamedTupleType,
)

ARRAYS = (
    inspect.ListType,
    inspect.SetType,
    inspect.FrozenSetType,
    inspect.VarTupleType,
    inspect.CollectionType,
)
"""Python types of collections, as msgspec describes them."""

_IN_ORDER = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def plain_type(info: inspect.Type) -> inspect.Type:
    """Return a type without annotations."""
    return plain_type(info.type) if isinstance(info, inspect.Metadata) else info


def record_fields(info: RecordType) -> tuple[inspect.Field, ...]:
    """Return the fields of a class.

    Raises:
        TypeError: A key of a TypedDict may be missing, but Avro's fields may not.
    """
    for field in info.fields:
        no_default = (
            field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
        )
        if not field.required and no_default:
            raise TypeError(
                f"field {field.name!r} may be missing, but Avro fields may not: make it required"
            )
    if not isinstance(info, inspect.TypedDictType):
        return info.fields
    order = list(get_type_hints(info.cls))  # msgspec has them in no order
    return tuple(sorted(info.fields, key=lambda field: order.index(field.name)))


def shape_of(info: RecordType, names: tuple[str, ...]) -> Shape:
    """Return the `Shape` by which values of a class are created from their fields.

    Args:
        info: The class.
        names: The fields of the schema, in their order.

    Raises:
        TypeError: The class cannot be called with its fields.
    """
    attributes = {field.encode_name: field.name for field in info.fields}
    wanted = tuple(attributes[name] for name in names)
    if isinstance(info, inspect.TypedDictType):
        return Shape(dict, wanted, by_position=False)
    parameters = signature(info.cls).parameters
    missing = [name for name in wanted if name not in parameters]
    if missing:
        raise TypeError(
            f"the constructor of {info.cls.__qualname__} has no parameter for field {missing[0]!r}"
        )
    in_order = [each.name for each in parameters.values() if each.kind in _IN_ORDER]
    return Shape(info.cls, wanted, by_position=tuple(in_order) == wanted)


def shown(info: inspect.Type) -> str:
    """Return the name of a type for error texts."""
    cls = getattr(info, "cls", None)
    return type(info).__name__.removesuffix("Type").lower() if cls is None else cls.__qualname__
