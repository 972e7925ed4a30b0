"""Record the operations of a function as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import islice
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, get_type_hints

from kstreams.errors import TopologyError
from kstreams.expressions.code import checked, copied, names_of, placeholder_names
from kstreams.expressions.function import ColumnFunction, KeyedColumnFunction
from kstreams.expressions.placeholders import Placeholder, Unreadable, tree_of
from kstreams.expressions.tree import Argument, Part, Tree, Unary, Whole, leaves, nodes

__all__ = ("columns", "is_null")

P = ParamSpec("P")
"""The arguments: a value, or a key and a value."""
R = TypeVar("R")
"""Type of the results."""

_HINT = (
    "the function may use fields, constants, + - * / // %, abs, comparisons, & | ^ ~ of "
    "comparisons, is_null, and call a dataclass or Struct; for anything else pass the function "
    "without columns(...), and it runs by records."
)


def columns(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that nodes can compute by columns, without a call per record.

    `columns` calls `function` once, with placeholders that record the fields that it reads and
    their operations. Nodes by columns compute the results from the columns of these fields; nodes
    by records call `function`. The results are equal to the last bit: in a batch with values for
    which they might differ, such as integers beyond int64, `function` is called for each record.

    Use functions of a value in `over`, `filter_`, `filter_not`, `map_values` and `rekey`, and
    functions of a key and a value in all of these except `over`. In `kstreams.streams`, use them
    where a step accepts a function of the same arguments.

    Global and closure variables are read here: later changes have no effect. `~` of a comparison is
    its negation. `&` and `|` evaluate both sides.

    Args:
        function: A lambda, or a function defined with `def`, of a value, or of a key and a value.
            It may use fields of its arguments (or arguments that are themselves numbers, bools or
            text), constants, `+ - * / // %`, `abs`, comparisons, `& | ^ ~` of comparisons, and
            `is_null`. It may return an object: a call of a dataclass or `msgspec.Struct` with such
            results.

    Raises:
        TopologyError: The function does anything else: it branches on a value, calls a method or
            another function, or reads a field of a field. The error names the file and line.

    Example:
        >>> from dataclasses import dataclass
        >>> from kstreams import DOUBLE
        >>> from kstreams.aggregators import over, sum_
        >>> from kstreams.operators import columns
        >>> @dataclass(frozen=True)
        ... class Order:
        ...     price: float
        ...     quantity: int
        >>> def amount(order: Order) -> float:
        ...     return order.price * order.quantity
        >>> revenue = over(columns(amount), sum_(DOUBLE))

    Source: none in Kafka Streams.
    """
    try:
        plain, count = checked(function, _ALLOWED)
        names, arguments = names_of(plain), _ARGUMENTS[-count:]
        placeholders = [Placeholder(Whole(argument)) for argument in arguments]
        tree = tree_of(copied(plain, placeholder_names(names))(*placeholders))
        _check_size(tree)
        _check_fields(plain, arguments, tree)
    except Unreadable as exc:
        raise _refused(function, str(exc)) from exc
    except Exception as exc:
        raise _refused(function, f"it raised {type(exc).__name__}: {exc}") from exc
    made: Any = ColumnFunction if count == 1 else KeyedColumnFunction
    found: Callable[P, R] = made(copied(plain, names), tree, plain)
    return found


def is_null(value: object) -> bool:
    """Return whether a value is None; functions for `columns` use it instead of `is None`."""
    if isinstance(value, Placeholder):
        recorded: object = Placeholder(Unary("is_null", tree_of(value)))
        return recorded  # type: ignore[return-value]  # in place of a bool
    return value is None


_ALLOWED = (is_null, abs)
_ARGUMENTS: tuple[Argument, ...] = ("key", "value")
_MOST_NODES = 1_000
"""The maximum number of operations, fields and constants of a function."""


def _check_size(tree: Tree) -> None:
    """Check the number of operations: a local variable counts each time it is used.

    Raises:
        Unreadable: The tree has too many operations.
    """
    if next(islice(nodes(tree), _MOST_NODES, None), None) is not None:
        raise Unreadable(f"it has more than {_MOST_NODES:,} operations")


def _check_fields(function: FunctionType, arguments: Sequence[Argument], tree: Tree) -> None:
    """Check that the classes of annotated arguments have the fields that a function reads.

    Raises:
        Unreadable: A class lacks a field.
    """
    for place, argument in enumerate(arguments):
        try:
            hints = get_type_hints(function)
            cls = hints.get(function.__code__.co_varnames[place])
            if not isinstance(cls, type):
                continue
            fields = get_type_hints(cls)
        except (NameError, TypeError):  # a name that exists only for type checkers
            continue
        for leaf in leaves(tree):
            if leaf.of == argument and isinstance(leaf, Part):
                _check_field(cls, fields, leaf.name)


def _check_field(cls: type, fields: dict[str, object], name: str) -> None:
    if fields and name not in fields and not hasattr(cls, name):
        near = get_close_matches(name, fields, 1)
        also = f"; did you mean {near[0]!r}?" if near else ""
        raise Unreadable(f"{cls.__name__} has no field {name!r}{also}")


def _refused(function: object, reason: str) -> TopologyError:
    code = getattr(function, "__code__", None)
    place = "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return TopologyError(f"columns(...) cannot read {name!r}{place}: {reason}", hint=_HINT)
