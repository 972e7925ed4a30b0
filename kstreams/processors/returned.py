"""Checks that functions for operators that unpack a collection do not return text.

Python iterates over a `str` by characters and over `bytes` by numbers, so an operator that unpacks
a returned text would forward its characters as records.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import NoneType, UnionType
from typing import Generic, Literal, Union, get_args, get_origin, get_type_hints

from kstreams.errors import ProcessingError
from kstreams.processors.processor import BaseProcessor, KIn, KOut, VIn, VOut

__all__ = (
    "TEXT_TYPES",
    "FunctionSupplier",
    "Unpacked",
    "function_name",
    "text_problem",
    "text_returned",
)

TEXT_TYPES = (str, bytes, bytearray, memoryview)
"""Types that an operator must not unpack."""

Unpacked = Literal["values", "pairs of key and value", "records", "a pair of key and value"]
"""The items that an operator unpacks from the result of a function."""

_BY_NAME: dict[str, type] = {kind.__name__: kind for kind in TEXT_TYPES}


@dataclass(frozen=True)
class FunctionSupplier(Generic[KIn, VIn, KOut, VOut]):
    """Creates the processors of an operator that unpacks the result of a function.

    Args:
        operator: The name of the operator.
        function: The user's function.
        unpacked: The kind of items that the operator unpacks from a result, for error messages.
        make: Creates a processor.
    """

    operator: str
    function: Callable[..., object]
    unpacked: Unpacked
    make: Callable[[], BaseProcessor[KIn, VIn, KOut, VOut]]

    def __call__(self) -> BaseProcessor[KIn, VIn, KOut, VOut]:
        """Return a new processor."""
        return self.make()

    def problems(self) -> tuple[str, ...]:
        """Return the problem of a function that is annotated to return text."""
        return text_problem(self.operator, self.function, self.unpacked)


def text_problem(
    operator: str, function: Callable[..., object], unpacked: Unpacked
) -> tuple[str, ...]:
    """Return the problem of a function that is annotated to return text; empty for others."""
    kind = _annotated_text(function)
    if kind is None:
        return ()
    return (f"{_problem(operator, function, kind, unpacked)}: {_hint(kind, unpacked)}",)


def text_returned(
    operator: str, function: Callable[..., object], made: object, unpacked: Unpacked
) -> ProcessingError:
    """Return the error for a function that has returned text.

    Args:
        operator: The name of the operator.
        function: The user's function.
        made: The returned text.
        unpacked: The kind of items that the operator unpacks from a result.
    """
    problem = _problem(operator, function, type(made), unpacked)
    return ProcessingError(problem, hint=f"{_hint(type(made), unpacked)}.")


def function_name(function: object) -> str:
    """Return the name of a function, or of the class of a callable object."""
    while isinstance(function, partial):
        function = function.func
    name: object = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else type(function).__qualname__


def _problem(operator: str, function: object, kind: type, unpacked: Unpacked) -> str:
    wanted = unpacked if unpacked.startswith("a ") else f"a list or another iterable of {unpacked}"
    name = function_name(function)
    return f"{operator}: function {name!r} returns {kind.__name__}, expected {wanted}"


def _hint(kind: type, unpacked: Unpacked) -> str:
    if unpacked == "values":
        return (
            f"return [value] to forward a {kind.__name__} as one value, or use map_values; "
            "a list of its parts would be list(value)"
        )
    return "return (key, value)" if unpacked.startswith("a ") else f"return a list of {unpacked}"


def _annotated_text(function: Callable[..., object]) -> type | None:
    """Return the text type that a function is annotated to return; None for any other type."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type):
        return function if issubclass(function, TEXT_TYPES) else None
    call = function if hasattr(function, "__annotations__") else type(function).__call__
    try:
        found = get_type_hints(inspect.unwrap(call)).get("return")
    except Exception:  # noqa: BLE001  # annotations that do not evaluate say nothing
        found = getattr(call, "__annotations__", {}).get("return")
    parts = get_args(found) if get_origin(found) in (Union, UnionType) else (found,)
    named = [_BY_NAME.get(part, part) if isinstance(part, str) else part for part in parts]
    kinds = [part for part in named if part is not NoneType]
    texts = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, TEXT_TYPES)]
    return texts[0] if texts and len(texts) == len(kinds) else None
