"""Find the branch of a union to which a value belongs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum as PythonEnum
from typing import Any

from kstreams_avro.datum import Datum, Malformed
from kstreams_avro.nodes import (
    Array,
    Enum,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    described,
    is_null,
)

__all__ = ("branch_finder",)

_CLASSES = {"boolean": bool, "float": float, "double": float, "bytes": bytes, "string": str}
_BITS = {"int": 31, "long": 63}


def branch_finder(union: Union) -> Callable[[Any], tuple[int, Any]]:
    """Return a function that returns the number of a value's branch, and the value to write.

    It raises `Malformed` for values of no branch. A pair of a record's name and a dict belongs to
    that record. In a union of null and one other branch, all values except None are left to the
    other branch.
    """
    nulls = [number for number, branch in enumerate(union.branches) if is_null(branch)]
    if nulls and len(union.branches) == 2:
        null = nulls[0]
        return lambda value: (null if value is None else 1 - null, value)
    tests = [_test(branch) for branch in union.branches]
    tests += [_is_whole if _is_float(branch) else _never for branch in union.branches]
    names = {
        branch.name: number
        for number, branch in enumerate(union.branches)
        if isinstance(branch, Record)
    }

    def find(value: Datum) -> tuple[int, Any]:
        if union.named and type(value) is tuple and len(value) == 2 and value[0] in names:
            return names[value[0]], value[1]
        for number, accepts in enumerate(tests):
            if accepts(value):
                return number % len(union.branches), value
        raise Malformed(
            f"expected one of {described(union)}, got {type(value).__name__}: {value!r:.40}"
        )

    return find


def _test(node: Node) -> Callable[[Any], bool]:
    """Return a check of whether a value belongs to a branch; it checks no more than needed."""
    match node:
        case Primitive(conversion=None, name="null"):
            return lambda value: value is None
        case Primitive(conversion=None, name="int" | "long"):
            limit = 1 << _BITS[node.name]
            return lambda value: _is_whole(value) and -limit <= value < limit
        case Primitive(conversion=None):
            cls = _CLASSES[node.name]
            return lambda value: type(value) is cls
        case Primitive(conversion=conversion) | Fixed(conversion=conversion) if conversion:
            kind = conversion.kind
            return lambda value: type(value) is kind
        case Fixed():
            return lambda value: type(value) is bytes and len(value) == node.size
        case Enum():
            accepted = {node.members.get(symbol, symbol) for symbol in node.symbols}
            return lambda value: isinstance(value, (str, PythonEnum)) and value in accepted
        case Array():
            container = node.container
            return lambda value: isinstance(value, container)
        case Map():
            return lambda value: isinstance(value, Mapping)
        case Record():
            return _record_test(node)
        case _:
            return _never


def _record_test(node: Record) -> Callable[[Any], bool]:
    if node.shape is not None and node.shape.cls is not dict:
        cls = node.shape.cls
        return lambda value: type(value) is cls
    names = {field.name for field in node.fields}
    return lambda value: isinstance(value, Mapping) and value.keys() <= names


def _is_float(node: Node) -> bool:
    return isinstance(node, Primitive) and node.name in ("float", "double")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _never(_: object) -> bool:
    return False
