"""Functions: the types of their results, and their names in messages and in names of state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from kstreams.aggregators.field import Field
from kstreams.expressions.function import TreeFunction
from kstreams.graph.tokens import show
from kstreams.record import Record
from kstreams.stored_names import kebab
from kstreams.streams.lambdas import Untyped, code_of, is_lambda, read_names, read_type

__all__ = (
    "UndeclaredError",
    "element_of",
    "itself",
    "key_and_value_of",
    "may_be_none",
    "name_of",
    "returned",
    "title_of",
)

_BUILTINS: dict[object, object] = {
    len: int,
    str.lower: str,
    str.upper: str,
    str.strip: str,
    str.title: str,
    str.split: list[str],
    str.splitlines: list[str],
    str.encode: bytes,
    bytes.decode: str,
}
"""The result types of builtins, which have no annotations."""
_MOST_NAMES = 3


class UndeclaredError(Exception):
    """A function does not declare the type of its result; the text has the reason.

    Attributes:
        argument: The argument of a lambda whose unknown type is the reason, if there is one.
    """

    def __init__(self, reason: str, argument: Untyped | None = None) -> None:
        super().__init__(reason)
        self.argument = argument


def returned(function: object, types: Sequence[object]) -> object:
    """Return the type of a function's results.

    Args:
        function: A function, class, partial function or callable object.
        types: The types of the arguments, for a lambda.

    Raises:
        UndeclaredError: The type is not declared, or its declaration cannot be read.
    """
    function = _inner(function)
    if isinstance(function, type) or isinstance(get_origin(function), type):
        return function
    try:
        if function in _BUILTINS:
            return _BUILTINS[function]
    except TypeError:  # a callable object that cannot be hashed
        pass
    hint = _annotated(function if _own_name(function) else type(function).__call__)
    code = code_of(function)
    if hint is inspect.Signature.empty and code is not None and is_lambda(function):
        hint = read_type(code, types)
    if isinstance(hint, Untyped):
        raise UndeclaredError(f"an argument of {title_of(function)} has no known type", hint)
    if hint in (inspect.Signature.empty, Any, object) or isinstance(hint, TypeVar):
        raise UndeclaredError(f"{title_of(function)} does not declare the type of its result")
    return hint


def _annotated(function: Any) -> object:  # noqa: ANN401  # any callable
    """Return the annotation of the result alone: those of the arguments may be unreadable."""
    try:
        inner = inspect.unwrap(function)  # refuses a circle of `__wrapped__`
        hint = _annotations(function).get("return", inspect.Signature.empty)

        def stand_in() -> None: ...

        stand_in.__annotations__ = {"return": hint}
        names = getattr(inspect.unwrap(inner), "__globals__", {})
        return hint if hint is inspect.Signature.empty else _evaluated(stand_in, names)
    except Exception as exc:
        raise UndeclaredError(
            f"the type of the result of {title_of(function)} cannot be read ({exc})"
        ) from exc


def _evaluated(function: Callable[[], None], names: dict[str, Any]) -> object:
    found: object = get_type_hints(function, names, include_extras=True)["return"]
    return found


def _annotations(function: Any) -> dict[str, object]:  # noqa: ANN401  # any callable
    try:
        return getattr(function, "__annotations__", None) or {}
    except NameError:  # since Python 3.14 all annotations are evaluated at the first access
        library: Any = import_module("annotationlib")
        made: dict[str, object] = library.get_annotations(function, format=3)  # FORWARDREF
        return made


def _inner(function: object) -> object:
    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, TreeFunction):
            function = function.original or function.function
        else:
            return function


def title_of(function: object) -> str:
    """Return the name of a function for messages."""
    function = _inner(function)
    name = _own_name(function) or type(function).__qualname__
    return "a lambda" if is_lambda(function) else name.rpartition("<locals>.")[2]


def name_of(function: object) -> str:
    """Return the name of a function as a part of the names of stores; may be empty.

    `customer_of` is `customer-of`, `CountWords` is `count-words`, a field is its name, and a lambda
    is called by the names that it reads; see `read_names`.
    """
    function = _inner(function)
    if isinstance(function, Field):
        return kebab(function.name)
    code = code_of(function)
    if code is not None and is_lambda(function):
        return kebab("-".join(read_names(code)[:_MOST_NAMES]))
    name = _own_name(function) or type(function).__qualname__
    return kebab(name.rpartition(".")[2])


def _own_name(function: object) -> str:
    """Return the qualified name of a function or class; empty for other callable objects."""
    found = getattr(function, "__qualname__", "")
    return found if isinstance(found, str) else ""


def itself(hint: object) -> object:
    """Return the type itself."""
    return hint


def element_of(hint: object) -> object:
    """Return the type of an iterable's elements; a record counts as a pair of key and value."""
    part = next(iter(get_args(hint)), None)
    if part is None:
        raise UndeclaredError(f"{show(hint)} does not declare the type of its elements")
    return tuple.__class_getitem__(get_args(part)) if get_origin(part) is Record else part


def key_and_value_of(hint: object) -> tuple[object, object]:
    """Return the types of a pair of key and value."""
    parts = get_args(hint)
    if get_origin(hint) is not tuple or len(parts) != 2 or Ellipsis in parts:
        raise UndeclaredError(f"{show(hint)} is not a pair of key and value")
    return parts[0], parts[1]


def may_be_none(hint: object) -> bool:
    """Return whether None is among the values of a type."""
    if get_origin(hint) is Annotated:
        return may_be_none(get_args(hint)[0])
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)
