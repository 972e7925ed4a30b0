"""Evaluate a tree for one record, as Python does."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from kstreams.expressions.tree import (
    Argument,
    Binary,
    Constant,
    Made,
    Part,
    Tree,
    Unary,
    Whole,
)

__all__ = ("by_key_and_value", "by_record")

_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg,
    "abs": abs,
    "not_": operator.not_,
    "is_null": lambda operand: operand is None,
}


_Function = Callable[[Any, Any], Any]


def by_record(tree: Tree) -> Callable[[Any], Any]:
    """Return a function of a value that returns the result of a tree."""
    function = by_key_and_value(tree)
    return lambda value: function(None, value)


def by_key_and_value(tree: Tree) -> Callable[[Any, Any], Any]:
    """Return a function of a key and a value that returns the result of a tree."""
    match tree:
        case Whole(of=argument):
            return _argument(argument)
        case Part(name=name, of=argument):
            return _applied(operator.attrgetter(name), _argument(argument))
        case Constant(value=constant):
            return lambda _, __: constant
        case Unary(name=name, operand=operand):
            return _applied(_UNARY[name], by_key_and_value(operand))
        case Binary(name=name, left=left, right=right):
            operands = by_key_and_value(left), by_key_and_value(right)
            return _applied(getattr(operator, name), *operands)
        case Made(cls=cls, fields=fields):
            parts = {name: by_key_and_value(part) for name, part in fields}
            return lambda key, value: cls(
                **{name: part(key, value) for name, part in parts.items()}
            )


def _argument(argument: Argument) -> _Function:
    return (lambda key, _: key) if argument == "key" else (lambda _, value: value)


def _applied(operation: Callable[..., Any], *operands: _Function) -> _Function:
    if len(operands) == 1:
        (only,) = operands
        return lambda key, value: operation(only(key, value))
    left, right = operands
    return lambda key, value: operation(left(key, value), right(key, value))
