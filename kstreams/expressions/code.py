"""Check the code of a function, and copy it with placeholders or with its present constants.

A placeholder cannot notice all operations: `value is None` is false for any placeholder, and
`random.random()` returns a number. So only functions whose instructions are all known to be
recorded are accepted, and all names that they use are replaced.
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Callable, Mapping
from types import CellType, FunctionType, ModuleType
from typing import Any

from kstreams.expressions.placeholders import (
    Constructor,
    Unreadable,
    constructor_problem,
    is_constant,
)

__all__ = ("Names", "checked", "copied", "names_of", "placeholder_names")

Names = dict[str, Any]
"""The objects that a function's code refers to, by the names of globals and closure variables."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_KNOWN = (
    *("RESUME", "NOP", "CACHE", "EXTENDED_ARG", "PRECALL", "PUSH_NULL", "COPY_FREE_VARS"),
    *("NOT_TAKEN", "KW_NAMES", "TO_BOOL"),
    *("LOAD_FAST", "STORE_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_DEREF"),
    *("LOAD_ATTR", "LOAD_METHOD", "RETURN_VALUE", "RETURN_CONST", "COMPARE_OP"),
    *("UNARY_NEGATIVE", "UNARY_INVERT", "ROT_TWO", "POP_TOP"),
    *("CALL", "CALL_KW", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_METHOD"),
    *("BINARY_OP", "BINARY_ADD", "BINARY_SUBTRACT", "BINARY_MULTIPLY", "BINARY_TRUE_DIVIDE"),
    *("BINARY_FLOOR_DIVIDE", "BINARY_MODULO", "BINARY_AND", "BINARY_OR", "BINARY_XOR"),
    *("BINARY_POWER", "BINARY_LSHIFT", "BINARY_RSHIFT", "BINARY_MATRIX_MULTIPLY"),
)
"""The names of instructions that placeholders notice, in Python 3.10 to 3.14."""
_PREFIXES = ("LOAD_FAST_", "STORE_FAST_", "INPLACE_")
"""Prefixes of instructions that combine known ones, or assign their results."""
_REASONS = {
    "IS_OP": "it tests the identity of a value ('is'); use is_null(...) for 'is None'",
    "CONTAINS_OP": "it uses 'in'",
    "FORMAT": "it formats a value as text",
    "BUILD_STRING": "it formats a value as text",
    "BUILD_": "it creates a collection",
    "BINARY_SUBSCR": "it uses a subscript",
    "FOR_ITER": "it has a loop",
    "GET_ITER": "it has a loop",
    "MAKE_": "it defines a function, or has a comprehension (a loop)",
    "LOAD_CLOSURE": "it defines a function, or has a comprehension (a loop)",
    "UNARY_NOT": "it branches on a value ('not'); use ~ for comparisons",
    "STORE_": "it changes an object or a name",
    "DELETE_": "it deletes a name",
    "IMPORT_": "it imports a module",
    "YIELD": "it is a generator",
    "RETURN_GENERATOR": "it is a generator",
}
_BRANCH = (
    "it branches on a value ('if', 'and', 'or' or a chained comparison); "
    "use & and | for comparisons"
)


def checked(function: object, allowed: tuple[object, ...]) -> tuple[FunctionType, int]:
    """Return a function whose code can be recorded, and the number of its required arguments.

    The number is 1 for a function of a value, and 2 for a function of a key and a value.

    Args:
        function: The function.
        allowed: Functions that the function may call.

    Raises:
        Unreadable: The argument is something else.
    """
    if not isinstance(function, FunctionType):
        raise Unreadable(f"it is a {type(function).__name__}, expected a lambda or a function")
    signature = inspect.signature(function)
    required = [each for each in signature.parameters.values() if each.default is each.empty]
    positional = all(each.kind in _POSITIONAL for each in required)
    if len(required) not in (1, 2) or not positional:
        raise Unreadable(f"it takes {signature}, expected a value, or a key and a value")
    instructions = list(dis.get_instructions(function.__code__))
    for each in instructions:
        if each.opname == "GET_ITER":  # before the jumps, which are part of a loop
            raise Unreadable(_REASONS["GET_ITER"])
        if "JUMP" in each.opname:
            raise Unreadable(_REASONS["IS_OP"] if "NONE" in each.opname else _BRANCH)
    for each in instructions:
        name = each.opname
        known = name in _KNOWN or name.startswith(_PREFIXES)
        if not known or (name == "BINARY_OP" and each.argrepr.startswith("[")):
            found = [why for prefix, why in _REASONS.items() if name.startswith(prefix)]
            raise Unreadable(found[0] if found else f"it uses the instruction {name}")
    for name, value in (*names_of(function).items(), *_defaults(function).items()):
        problem = _problem(value, allowed)
        if problem is not None:
            raise Unreadable(f"it uses {name!r}: {problem}")
    return function, len(required)


def _problem(value: object, allowed: tuple[object, ...]) -> str | None:
    """Return why a function may not use an object; None if it may."""
    if is_constant(value) or any(value is each for each in allowed):
        return None
    if isinstance(value, type):
        return constructor_problem(value)
    if isinstance(value, ModuleType):
        return "import the name from the module instead"
    kind = "None" if value is None else f"a {type(value).__name__}"
    return f"{kind}, expected a number, bool, text, dataclass or Struct"


def names_of(function: FunctionType) -> Names:
    """Return the objects that the function's code refers to by globals and closure variables.

    Raises:
        Unreadable: A name is not defined yet.
    """
    found: Names = {}
    for each in dis.get_instructions(function.__code__):
        if each.opname == "LOAD_GLOBAL":
            name = each.argval
            if name in function.__globals__:
                found[name] = function.__globals__[name]
            elif hasattr(builtins, name):
                found[name] = getattr(builtins, name)
            else:
                raise Unreadable(f"the name {name!r} is not defined")
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError as exc:
            raise Unreadable(f"the name {name!r} is not defined") from exc
    return found


def copied(function: FunctionType, names: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a copy of a function that refers to the given objects, and not to later values."""
    code = function.__code__
    cells = tuple(CellType(names[name]) for name in code.co_freevars)
    scope = {name: value for name, value in names.items() if name not in code.co_freevars}
    scope["__builtins__"] = {}
    scope["__name__"] = function.__module__
    copy = FunctionType(code, scope, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


def placeholder_names(names: Mapping[str, Any]) -> Names:
    """Return a copy of `names` in which a `Constructor` replaces each class."""
    return {
        name: Constructor(value) if isinstance(value, type) else value
        for name, value in names.items()
    }


def _defaults(function: FunctionType) -> Names:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}
