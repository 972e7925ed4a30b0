"""Properties of a decoded type, determined once for a serde."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Union, get_args, get_origin

from msgspec import inspect

from kstreams.serde import FieldType

__all__ = (
    "SCALARS",
    "classes_of",
    "contains",
    "field_types",
    "has_value_bytes",
    "is_immutable",
    "parts_of",
    "type_name",
)

SCALARS = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.BytesType,
    inspect.DateTimeType,
    inspect.DateType,
    inspect.TimeType,
    inspect.TimeDeltaType,
    inspect.UUIDType,
    inspect.DecimalType,
    inspect.EnumType,
    inspect.LiteralType,
)
"""Types of values without parts."""
_EQUAL_BY_BYTES = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.StrType,
    inspect.BytesType,
    inspect.UUIDType,
)
"""Scalars that are equal exactly if their bytes are equal."""


def type_name(type_: object) -> str:
    """Return the text of a type without module names, which stays equal when a class moves."""
    if type_ is None or type_ is type(None):
        return "None"
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, types.UnionType):
        return " | ".join(type_name(argument) for argument in arguments)
    if arguments:
        inner = ", ".join("..." if a is Ellipsis else type_name(a) for a in arguments)
        return f"{type_name(origin)}[{inner}]"
    name: object = getattr(type_, "__qualname__", None) or getattr(type_, "__name__", None)
    return name if isinstance(name, str) else repr(type_)


def classes_of(info: inspect.Type) -> tuple[type, ...]:
    """Return the possible classes of a type's values; empty if any class is possible."""
    match info:
        case inspect.UnionType(types=members):
            found = [classes_of(member) for member in members]
            return sum(found, ()) if all(found) else ()
        case inspect.StructType(cls=cls) | inspect.DataclassType(cls=cls):
            return (get_origin(cls) or cls,)  # of a generic class, `Change[Order]`
        case inspect.StrType():
            return (str,)
        case inspect.IntType():
            return (int,)
        case inspect.BoolType():
            return (bool,)
        case inspect.FloatType():
            return (float, int)
        case inspect.ListType():
            return (list,)
        case inspect.DictType() | inspect.TypedDictType():
            return (dict,)
        case inspect.TupleType() | inspect.VarTupleType():
            return (tuple,)
        case inspect.NoneType():
            return (type(None),)
        case _:
            return ()


def is_immutable(info: inspect.Type) -> bool:
    """Return whether values are immutable: scalars, and frozen Structs of them."""
    return _holds(info, _is_frozen)


def has_value_bytes(info: inspect.Type) -> bool:
    """Return whether values are hashable, and equal exactly if their bytes are equal."""
    return _holds(info, _is_compared_by_bytes)


def contains(info: inspect.Type, *kinds: type[inspect.Type]) -> bool:
    """Return whether a type, or a type inside it, is of certain kinds."""
    return any(isinstance(part, kinds) for part in parts_of(info))


def field_types(info: inspect.Type) -> dict[str, FieldType]:
    """Return the types of an object's fields that decoding guarantees to be plain scalars.

    A field is included if it is an int, float, bool or str, or None. Empty for types other than
    dataclasses and Structs, and for classes that may change fields after decoding.
    """
    if not isinstance(info, (inspect.StructType, inspect.DataclassType)):
        return {}
    if hasattr(info.cls, "__post_init__"):
        return {}
    found = {field.name: _plain_type(field.type) for field in info.fields}
    return {name: kind for name, kind in found.items() if kind is not None}


def _plain_type(info: inspect.Type) -> FieldType | None:
    match info:
        case inspect.Metadata(type=inner):
            return _plain_type(inner)
        case inspect.UnionType(types=members):
            others = [each for each in members if not isinstance(each, inspect.NoneType)]
            return _plain_type(others[0]) if len(others) == 1 else None
        case inspect.IntType():
            return int
        case inspect.FloatType():
            return float
        case inspect.BoolType():
            return bool
        case inspect.StrType():
            return str
        case _:
            return None


def _holds(info: inspect.Type, check: Callable[[inspect.Type], bool]) -> bool:
    return all(check(part) for part in parts_of(info))


def _is_frozen(part: inspect.Type) -> bool:
    if isinstance(part, inspect.StructType):
        return part.cls.__struct_config__.frozen
    made_of_others = (
        inspect.FrozenSetType,
        inspect.TupleType,
        inspect.VarTupleType,
        inspect.UnionType,
        inspect.Metadata,
    )
    return isinstance(part, (*SCALARS, *made_of_others))


def _is_compared_by_bytes(part: inspect.Type) -> bool:
    if isinstance(part, inspect.StructType):
        config = part.cls.__struct_config__
        return config.frozen and config.eq
    if isinstance(part, inspect.UnionType):  # True equals 1, but is not written alike
        return sum(not isinstance(member, inspect.NoneType) for member in part.types) == 1
    made_of_others = (inspect.TupleType, inspect.VarTupleType, inspect.Metadata)
    return isinstance(part, (*_EQUAL_BY_BYTES, *made_of_others))


def parts_of(info: inspect.Type) -> Iterator[inspect.Type]:
    """Yield a type and all types within it, each once; types may be recursive."""
    todo, seen = [info], set[int]()
    while todo:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        todo.extend(_members(part))


def _members(part: inspect.Type) -> Iterator[inspect.Type]:
    match part:
        case inspect.UnionType(types=members):
            yield from members
        case inspect.TupleType(item_types=members):
            yield from members
        case inspect.DictType(key_type=key, value_type=value):
            yield key
            yield value
        case inspect.Metadata(type=inner):
            yield inner
        case (
            inspect.StructType()
            | inspect.DataclassType()
            | inspect.TypedDictType()
            | inspect.NamedTupleType()
        ):
            yield from (member.type for member in part.fields)
        case inspect.ListType() | inspect.SetType() | inspect.FrozenSetType():
            yield part.item_type
        case inspect.VarTupleType():
            yield part.item_type
        case _:
            pass
