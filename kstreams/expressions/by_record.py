"""Evaluate a tree for one value, as Python does."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from kstreams.expressions.tree import Binary, Constant, Made, Part, Tree, Unary, Whole

__all__ = ("by_record",)

_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg,
    "abs": abs,
    "not_": operator.not_,
    "is_null": lambda operand: operand is None,
}


def by_record(tree: Tree) -> Callable[[Any], Any]:
    """Return a function of a value that returns the result of a tree."""
    match tree:
        case Whole():
            return lambda value: value
        case Part(name=name):
            return operator.attrgetter(name)
        case Constant(value=constant):
            return lambda _: constant
        case Unary(name=name, operand=operand):
            return _applied(_UNARY[name], by_record(operand))
        case Binary(name=name, left=left, right=right):
            return _applied(getattr(operator, name), by_record(left), by_record(right))
        case Made(cls=cls, fields=fields):
            parts = {name: by_record(part) for name, part in fields}
            return lambda value: cls(**{name: part(value) for name, part in parts.items()})


def _applied(
    operation: Callable[..., Any], *operands: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    if len(operands) == 1:
        (only,) = operands
        return lambda value: operation(only(value))
    left, right = operands
    return lambda value: operation(left(value), right(value))
