"""Binds a schema to a type: the class of each record, and the conversion of each logical type.

The Python type decides whether a logical type is converted: a field of type `int` gets the number
of a timestamp.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import msgspec
from msgspec import inspect

from kstreams_avro.datum import Datum, Malformed
from kstreams_avro.members import ARRAYS, RECORDS, RecordType, plain_type, shape_of, shown
from kstreams_avro.nodes import (
    Array,
    Check,
    Enum,
    Field,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    described,
)

__all__ = ("bind",)

_RAW: dict[type[inspect.Type], tuple[tuple[str, ...], type]] = {
    inspect.NoneType: (("null",), type(None)),
    inspect.BoolType: (("boolean",), bool),
    inspect.IntType: (("int", "long"), int),
    inspect.FloatType: (("float", "double"), float),
    inspect.StrType: (("string",), str),
    inspect.BytesType: (("bytes",), bytes),
}
"""By msgspec's type: the Avro types that need no conversion, and the Python type."""

_CONVERTED = {
    inspect.DateTimeType: "datetime",
    inspect.DateType: "date",
    inspect.TimeType: "time",
    inspect.UUIDType: "UUID",
    inspect.DecimalType: "Decimal",
}
"""The Python types of values of a logical type, by the name of the Avro logical type."""

_CONTAINERS: dict[type[inspect.Type], type] = {
    inspect.ListType: list,
    inspect.CollectionType: list,
    inspect.VarTupleType: tuple,
    inspect.SetType: set,
    inspect.FrozenSetType: frozenset,
}
_STRUCTURE = ("type", "item_type", "key_type", "value_type", "encoding", "cls", "fields")
"""The attributes of a type besides its constraints."""


def bind(node: Node, type_: object) -> Node:
    """Return a schema whose values have the classes of a type.

    Raises:
        TypeError: The schema and the type do not match. The message has the field.
    """
    try:
        return _Binder().bind(node, inspect.type_info(type_))
    except Malformed as exc:
        raise TypeError(str(exc)) from None


class _Binder:
    """Binds nodes; each record only once, because a record may contain itself."""

    def __init__(self) -> None:
        self._records: dict[tuple[int, type], Record] = {}

    def bind(self, node: Node, info: inspect.Type) -> Node:
        info = plain_type(info)
        if isinstance(info, inspect.AnyType):
            return node
        if isinstance(info, inspect.UnionType):
            return self._union(node, info)
        if isinstance(info, RECORDS) and isinstance(node, Record):
            return self._record(node, info)
        match node:
            case Primitive() | Fixed():
                return _scalar(node, info)
            case Enum():
                return _enum(node, info)
            case Array() if isinstance(info, ARRAYS):
                items = self._inside(node.items, info.item_type)
                return Array(items, _CONTAINERS[type(info)], _check(info, _CONTAINERS[type(info)]))
            case Map() if isinstance(info, inspect.DictType):
                if not isinstance(plain_type(info.key_type), inspect.StrType):
                    key = plain_type(info.key_type)
                    raise Malformed(f"keys of an Avro map must be str, not {shown(key)}")
                return Map(self._inside(node.values, info.value_type), _check(info, dict))
            case _:
                raise _unlike(node, info)

    def _inside(self, node: Node, info: inspect.Type) -> Node:
        try:
            return self.bind(node, info)
        except Malformed as exc:
            raise exc.within("[]") from None

    def _union(self, node: Node, info: inspect.UnionType) -> Node:
        """Bind each branch of a union to the first matching member of the Python union."""
        if not isinstance(node, Union):
            raise _unlike(node, info)
        left = list(info.types)
        branches = []
        for branch in node.branches:
            bound, member = self._member(branch, left)
            branches.append(bound)
            left.remove(member)
        if left:
            raise Malformed(f"{described(node)} has no branch for type {shown(left[0])}")
        return Union(tuple(branches), named=False)

    def _member(self, branch: Node, members: list[inspect.Type]) -> tuple[Node, inspect.Type]:
        problem = Malformed(f"the Python union has no type for {described(branch)}")
        alike = _same_class(branch, members)
        for member in alike or members:
            try:
                return self.bind(branch, member), member
            except Malformed as exc:
                problem = exc if alike else problem
        raise problem

    def _record(self, node: Record, info: RecordType) -> Record:
        known = self._records.get((id(node), info.cls))
        if known is not None:
            return known
        names = tuple(field.name for field in node.fields)
        own = {field.encode_name: field for field in info.fields}
        for name in (*names, *own):
            if name not in own or name not in names:
                where = info.cls.__qualname__ if name not in own else f"record {node.name}"
                raise Malformed(f"{where} has no such field").within(name)
        if isinstance(info, inspect.StructType) and info.array_like:
            raise Malformed(
                f"{info.cls.__qualname__} has array_like=True, but Avro records have named fields"
            )
        before = len(self._records)
        record = Record(node.name, node.aliases, shape_of(info, names))
        self._records[id(node), info.cls] = record
        try:
            record.fields = tuple(self._field(field, own[field.name]) for field in node.fields)
        except Malformed:
            for made in list(self._records)[before:]:  # they may hold this one
                del self._records[made]
            raise
        return record

    def _field(self, field: Field, info: inspect.Field) -> Field:
        try:
            return replace(field, type=self.bind(field.type, info.type))
        except Malformed as exc:
            raise exc.within(field.name) from None


def _same_class(branch: Node, members: list[inspect.Type]) -> list[inspect.Type]:
    """Return the members whose class has the name of a union's branch, without its namespace."""
    if not isinstance(branch, (Record, Enum)):
        return []
    own = branch.name.rpartition(".")[2]
    named = [(each, getattr(plain_type(each), "cls", None)) for each in members]
    return [each for each, cls in named if getattr(cls, "__name__", None) == own]


def _scalar(node: Primitive | Fixed, info: inspect.Type) -> Node:
    name = "bytes" if isinstance(node, Fixed) else node.name
    if type(info) in _RAW:
        names, cls = _RAW[type(info)]
        if name not in names:
            raise _unlike(node, info)
        if isinstance(node, Fixed):
            return replace(node, conversion=None)
        return replace(node, conversion=None, check=_check(info, cls))
    if isinstance(info, inspect.LiteralType):
        kind = type(info.values[0])
        if kind not in (str, int) or name not in (("string",) if kind is str else ("int", "long")):
            raise _unlike(node, info)
        return Primitive(name, check=_one_of(info.values))
    wanted = _CONVERTED.get(type(info))
    if wanted is None or node.conversion is None or node.conversion.kind.__name__ != wanted:
        raise _unlike(node, info)
    return node


def _enum(node: Enum, info: inspect.Type) -> Node:
    if isinstance(info, inspect.StrType):
        return replace(node, check=_check(info, str))
    if isinstance(info, inspect.LiteralType) and set(info.values) == set(node.symbols):
        return node
    if not isinstance(info, inspect.EnumType):
        raise _unlike(node, info)
    by_value = {member.value: member for member in info.cls}
    by_name = dict(info.cls.__members__)
    for known in (by_name, by_value):
        if set(known) == set(node.symbols):
            return replace(node, members={symbol: known[symbol] for symbol in node.symbols})
    raise Malformed(
        f"neither the names nor the values of {info.cls.__qualname__} are the symbols of enum "
        f"{node.name}: {', '.join(node.symbols)}"
    )


def _one_of(values: tuple[Any, ...]) -> Check:
    known = {(type(value), value) for value in values}

    def check(value: Datum) -> Datum:
        if (type(value), value) not in known:
            raise Malformed(f"expected one of {', '.join(map(repr, values))}, got {value!r:.40}")
        return value

    return check


def _check(info: inspect.Type, cls: type) -> Check:
    """Return a function that checks values against the constraints of a type, as msgspec does."""
    named = {name: getattr(info, name) for name in info.__struct_fields__ if name not in _STRUCTURE}
    limits = {name: limit for name, limit in named.items() if limit is not None}
    if not limits:
        return None
    constrained: Any = Annotated[cls, msgspec.Meta(**limits)]  # made at run time
    return lambda value: msgspec.convert(value, constrained)


def _unlike(node: Node, info: inspect.Type) -> Malformed:
    return Malformed(
        f"{described(node)} in the schema does not match the Python type {shown(info)}"
    )
