"""Evaluate a tree on columns, with the results of Python's operators, bit for bit.

If a result might differ from Python's, `Doubt` is raised, and the caller evaluates the batch with
Python objects: a null operand, an integer beyond int64, a division by zero, a comparison of a
double with an integer that doubles cannot represent, a floor division or modulo of infinity or NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.expressions.tree import Binary, Constant, Leaf, Part, Tree, Unary, Whole

__all__ = ("Doubt", "Operands", "evaluated")

_INT64 = 1 << 63
_EXACT = 1 << 53
"""Doubles represent all integers up to this magnitude."""

_COMPARED = {
    "lt": (operator.lt, pc.less),
    "le": (operator.le, pc.less_equal),
    "eq": (operator.eq, pc.equal),
    "ne": (operator.ne, pc.not_equal),
    "ge": (operator.ge, pc.greater_equal),
    "gt": (operator.gt, pc.greater),
}
_DIVIDED = {"truediv": np.true_divide, "floordiv": np.floor_divide, "mod": np.remainder}
_SUMMED = {"add": np.add, "sub": np.subtract, "mul": np.multiply}

Operands = Mapping[Leaf, pa.Array]
"""The columns of the arguments and fields that a tree reads."""

_Numbers = npt.NDArray[Any]


class Doubt(Exception):
    """Results of a column might differ from those of Python's operators."""


def evaluated(tree: Tree, operands: Operands, count: int) -> pa.Array:
    """Return the results of a tree: a column of int64, float64, bools or text.

    Args:
        tree: A tree that creates no object, and for which `part_kind` raises nothing.
        operands: The columns of the tree's leaves, of the types int64, float64, bool or string.
        count: The number of rows.

    Raises:
        Doubt: A result might differ from that of Python's operators.
    """
    match tree:
        case Whole() | Part():
            return operands[tree]
        case Constant(value=value):
            return pa.repeat(_scalar(value), count)
        case _:
            with np.errstate(all="ignore"):
                found = _value(tree, operands)
            if isinstance(found, np.ndarray) and found.ndim:
                return pa.array(found)
            return pa.repeat(_scalar(found.item() if hasattr(found, "item") else found), count)


def _scalar(value: Any) -> pa.Scalar:  # noqa: ANN401  # a constant
    try:
        return pa.scalar(value)
    except (OverflowError, UnicodeEncodeError, pa.ArrowException) as exc:
        raise Doubt(str(exc)) from exc


def _value(tree: Tree, operands: Operands) -> Any:  # noqa: ANN401  # numbers, a constant or text
    """Return the results of a tree: a numpy array or scalar, or an Arrow array of text."""
    match tree:
        case Whole() | Part():
            return _leaf(operands[tree])
        case Constant(value=value):
            return _constant(value)
        case Unary(name="is_null", operand=operand):
            return _is_null(operand, operands)
        case Unary(name=name, operand=operand):
            return _unary(name, _value(operand, operands))
        case Binary(name=name, left=left, right=right):
            return _binary(name, _value(left, operands), _value(right, operands))
        case _:
            raise TypeError(f"{tree} creates an object, which has no column of plain values")


def _leaf(column: pa.Array) -> Any:  # noqa: ANN401  # numbers or text
    if column.null_count:
        raise Doubt("an operand is null")
    if pa.types.is_string(column.type):
        return column
    return column.to_numpy(zero_copy_only=False)


def _constant(value: float | bool | str) -> Any:  # noqa: ANN401  # a number or text
    if isinstance(value, str):
        return _scalar(value)
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        if abs(value) >= _INT64:
            raise Doubt("a constant is beyond int64")
        return np.int64(value)
    return np.float64(value)


def _is_null(operand: Tree, operands: Operands) -> _Numbers:
    if isinstance(operand, Leaf):
        found: _Numbers = operands[operand].is_null().to_numpy(zero_copy_only=False)
        return found
    return np.zeros_like(_value(operand, operands), dtype=bool)


def _unary(name: str, operand: Any) -> Any:  # noqa: ANN401  # numbers
    if name == "not_":
        return np.logical_not(operand)
    number = _number(operand)
    if number.dtype.kind == "i" and _most(number) >= _INT64:
        raise Doubt("an integer result is beyond int64")
    return np.negative(number) if name == "neg" else np.absolute(number)


def _binary(name: str, left: Any, right: Any) -> Any:  # noqa: ANN401  # numbers or text
    if name in _COMPARED:
        return _compared(name, left, right)
    if name in ("and_", "or_", "xor"):
        return getattr(operator, name)(left, right)
    one, two = _number(left), _number(right)
    whole = one.dtype.kind == two.dtype.kind == "i"
    if name in _SUMMED:
        if whole:
            bounds = _most(one), _most(two)
            if (bounds[0] * bounds[1] if name == "mul" else sum(bounds)) >= _INT64:
                raise Doubt("an integer result may be beyond int64")
        return _SUMMED[name](one, two)
    if not np.all(two):
        raise Doubt("a divisor is zero")
    if name == "truediv":
        if whole and max(_most(one), _most(two)) > _EXACT:
            raise Doubt("doubles cannot represent an operand")
    elif whole:
        if _most(one) >= _INT64:
            raise Doubt("an integer result may be beyond int64")
    elif not (np.all(np.isfinite(one)) and np.all(np.isfinite(two))):
        raise Doubt("an operand is infinite or NaN")
    return _DIVIDED[name](one, two)


def _compared(name: str, left: Any, right: Any) -> _Numbers:  # noqa: ANN401  # numbers or text
    of_numbers, of_text = _COMPARED[name]
    if isinstance(left, pa.Array | pa.Scalar) or isinstance(right, pa.Array | pa.Scalar):
        if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
            return np.bool_(of_numbers(left.as_py(), right.as_py()))  # type: ignore[return-value]
        found: _Numbers = of_text(left, right).to_numpy(zero_copy_only=False)
        return found
    one, two = _number(left), _number(right)
    if one.dtype.kind != two.dtype.kind:
        integers = one if one.dtype.kind == "i" else two
        if _most(integers) > _EXACT:
            raise Doubt("doubles cannot represent an operand")
    result: _Numbers = of_numbers(one, two)
    return result


def _number(operand: Any) -> Any:  # noqa: ANN401  # numbers
    """Return numbers as int64 or float64; bools are the integers 0 and 1."""
    return operand if operand.dtype.kind == "f" else operand.astype(np.int64)


def _most(integers: Any) -> int:  # noqa: ANN401  # numbers
    """Return the greatest absolute value of the integers; 0 for an empty array."""
    if not integers.size:
        return 0
    return max(-int(integers.min()), int(integers.max()))
