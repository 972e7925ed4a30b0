"""The types of the parts of a tree, derived from the types of the fields that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kstreams.expressions.tree import BINARY, Binary, Constant, Made, Part, Tree, Unary, Whole
from kstreams.serde.base import FieldType, Serde
from kstreams.serde.numbers import BOOL, DOUBLE, INT32, INT64
from kstreams.serde.text import TEXT

__all__ = ("SERDES", "Fields", "Untyped", "fields_of", "kind_of", "part_kind")

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
    """The types of values.

    Attributes:
        serde: The serde of the values, for texts.
        whole: The type of values that are numbers, bools or text; None for objects.
        parts: The types of the fields of objects.
    """

    serde: Serde[Any]
    whole: FieldType | None
    parts: Mapping[str, FieldType]


def fields_of(serde: Serde[Any]) -> Fields:
    """Return the types of a serde's values."""
    whole = _WHOLE.get(serde)
    return Fields(serde, whole, {} if whole is not None else serde.field_types)


def kind_of(tree: Tree, fields: Fields) -> FieldType | None:
    """Return the type of a tree's results; None for objects of a class.

    Raises:
        Untyped: The tree has no column form for these values.
    """
    if isinstance(tree, Made):
        for _, part in tree.fields:
            kind_of(part, fields)
        return None
    return part_kind(tree, fields)


def part_kind(tree: Tree, fields: Fields) -> FieldType:
    """Return the type of the results of a tree that creates no object.

    Raises:
        Untyped: The tree has no column form for these values.
    """
    match tree:
        case Whole():
            if fields.whole is None:
                raise Untyped(f"values of {fields.serde.name} are not numbers, bools or text")
            return fields.whole
        case Part(name=name):
            kind = fields.parts.get(name)
            if kind is None:
                raise Untyped(
                    f"the type of field {name!r} of {fields.serde.name} is not known to be int, "
                    "float, bool or str"
                )
            return kind
        case Constant(value=value):
            return type(value)
        case Unary(name=name, operand=operand):
            return _unary(name, tree, part_kind(operand, fields))
        case Binary(name=name, left=left, right=right):
            return _binary(name, tree, part_kind(left, fields), part_kind(right, fields))
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
