"""The types of the parts of a tree, derived from the types of the fields that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kstreams.expressions.tree import (
    BINARY,
    Argument,
    Binary,
    Constant,
    Made,
    Part,
    Tree,
    Unary,
    Whole,
)
from kstreams.serde.base import FieldType, Serde
from kstreams.serde.numbers import BOOL, DOUBLE, INT32, INT64
from kstreams.serde.text import TEXT

__all__ = ("SERDES", "Arguments", "Fields", "Untyped", "fields_of", "kind_of", "part_kind")

SERDES: dict[object, Serde[Any]] = {int: INT64, float: DOUBLE, bool: BOOL, str: TEXT}
"""The serde whose columns hold the results of each type."""

_WHOLE: dict[Serde[Any], FieldType] = {INT64: int, INT32: int, DOUBLE: float, BOOL: bool, TEXT: str}
_NUMBERS = (int, float, bool)
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod")
_LOGIC = ("and_", "or_", "xor")


class Untyped(Exception):
    """A tree has no column form for values of a serde; the text states the reason."""


@dataclass(frozen=True)
class Fields:
    """The types of an argument.

    Attributes:
        name: The name of the argument's serde, for texts.
        whole: The type of an argument that is a number, bool or text; None for objects.
        parts: The types of the fields of objects.
    """

    name: str
    whole: FieldType | None
    parts: Mapping[str, FieldType]


Arguments = Mapping[Argument, Fields]
"""The types of a function's arguments."""


def fields_of(serde: Serde[Any]) -> Fields:
    """Return the types of a serde's objects."""
    whole = _WHOLE.get(serde)
    return Fields(serde.name, whole, {} if whole is not None else serde.field_types)


def kind_of(tree: Tree, arguments: Arguments) -> FieldType | None:
    """Return the type of a tree's results; None for objects of a class.

    Raises:
        Untyped: The tree has no column form for arguments of these types.
    """
    if isinstance(tree, Made):
        for _, part in tree.fields:
            kind_of(part, arguments)
        return None
    return part_kind(tree, arguments)


def part_kind(tree: Tree, arguments: Arguments) -> FieldType:
    """Return the type of the results of a tree that creates no object.

    Raises:
        Untyped: The tree has no column form for arguments of these types.
    """
    match tree:
        case Whole(of=argument):
            fields = arguments[argument]
            if fields.whole is None:
                raise Untyped(f"{argument}s of {fields.name} are not numbers, bools or text")
            return fields.whole
        case Part(name=name, of=argument):
            fields = arguments[argument]
            kind = fields.parts.get(name)
            if kind is None:
                raise Untyped(
                    f"the type of field {name!r} of {fields.name} is not known to be int, "
                    "float, bool or str"
                )
            return kind
        case Constant(value=value):
            return type(value)
        case Unary(name=name, operand=operand):
            return _unary(name, tree, part_kind(operand, arguments))
        case Binary(name=name, left=left, right=right):
            return _binary(name, tree, part_kind(left, arguments), part_kind(right, arguments))
        case Made(cls=cls):
            raise Untyped(f"it uses an object of {cls.__name__} as an operand")


def _unary(name: str, tree: Tree, operand: FieldType) -> FieldType:
    if name == "is_null":
        return bool
    if name == "not_":
        if operand is not bool:
            raise Untyped(f"{tree} inverts {operand.__name__}, expected a comparison or bool")
        return bool
    if operand not in _NUMBERS:
        raise Untyped(f"{tree} calculates with {operand.__name__}")
    return int if operand is bool else operand


def _binary(name: str, tree: Tree, left: FieldType, right: FieldType) -> FieldType:
    numbers = left in _NUMBERS and right in _NUMBERS
    if name in _LOGIC:
        if not left is right is bool:
            raise Untyped(f"{tree} combines values that are not comparisons or bools")
        return bool
    if name in _ARITHMETIC:
        if not numbers:
            raise Untyped(f"{tree} calculates with text")
        return float if name == "truediv" or float in (left, right) else int
    if not numbers and not left is right is str:
        raise Untyped(f"{tree} compares text with a number ({BINARY[name]})")
    return bool
