"""Lambdas: the type of the result and a name, as far as the bytecode shows them.

The code is read, and never run. Instructions that are not listed here, such as those of a later
Python version, mean that nothing is known.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from kstreams.windowed import K_co, Windowed

__all__ = ("Untyped", "annotations_of", "code_of", "is_lambda", "read_names", "read_type")

_ONE = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"})
_TWO = frozenset({"LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"})
_CONSTANT = frozenset({"LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST"})
_FORMAT = frozenset({"FORMAT_SIMPLE", "FORMAT_VALUE"})
_SKIPPED = frozenset({"CACHE", "CONVERT_VALUE", "NOP", "RESUME", "RETURN_VALUE"})
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})
_OF_WINDOWED: dict[str, object] = {"key": K_co, "start_ms": int, "end_ms": int}
"""The attributes of `Windowed`, whose class has no annotations."""
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Untyped:
    """The type of an argument whose type is not known.

    Attributes:
        cause: The reason.
    """

    cause: object


def is_lambda(function: object) -> bool:
    """Return whether an object is a lambda."""
    return getattr(function, "__name__", "") == "<lambda>" and code_of(function) is not None


def code_of(function: object) -> CodeType | None:
    """Return the code of a Python function; None for anything else."""
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def annotations_of(made: object) -> dict[str, object]:
    """Return the annotations of a class; empty if they cannot be read."""
    try:
        return dict(get_type_hints(made))
    except Exception:  # noqa: BLE001  # such as a name that is imported for type checkers only
        return {}


def read_type(code: CodeType, types: Sequence[object]) -> object:
    """Return the type of a lambda's result, or `object` if the code does not show it.

    If the code would show it for an argument of a known type, the result is that `Untyped`.

    The code shows it for an argument, the fields of an argument, constants, f-strings, and tuples
    of these: `lambda _, order: (order.customer, order.day)`.

    Args:
        code: The code of the lambda.
        types: The types of its arguments.
    """
    known = dict(zip(code.co_varnames[: code.co_argcount], types, strict=False))
    stack: list[object] = []
    for step in dis.get_instructions(code):
        if not _push(stack, step, known):
            break
        if step.opname.startswith("RETURN"):
            return stack[-1]
    return object


def _push(stack: list[object], step: dis.Instruction, known: dict[str, object]) -> bool:
    """Apply an instruction to a stack of types; return whether the instruction is known."""
    name, size, value = step.opname, step.arg or 0, step.argval
    if name in _ONE:
        stack.append(known.get(value, object))
    elif name in _TWO:
        stack += [known.get(each, object) for each in value]
    elif name in _CONSTANT:
        stack.append(type(value))
    elif name == "LOAD_ATTR":
        stack[-1] = _field(stack[-1], value)
    elif name == "BUILD_TUPLE" and size:
        stack[-size:] = [_tuple_of(stack[-size:])]
    elif name == "BUILD_STRING" and size:
        stack[-size:] = [str]
    elif name in _FORMAT and not size & 4:  # 4: a format specification is on the stack
        stack[-1] = str
    else:
        return name in _SKIPPED
    return True


def _tuple_of(parts: Sequence[object]) -> object:
    untyped = next((part for part in parts if isinstance(part, Untyped)), object)
    is_known = object not in parts and untyped is object
    return tuple.__class_getitem__(tuple(parts)) if is_known else untyped


def _field(owner: object, name: str) -> object:
    """Return the type of a field or property of a class; `object` if it is unknown."""
    if isinstance(owner, Untyped):
        return owner
    kind = get_origin(owner) or owner
    if not isinstance(kind, type):
        return object
    found = getattr(kind, name, None)
    known = _OF_WINDOWED if kind is Windowed else annotations_of(kind)
    made: object = known.get(name, object)
    if isinstance(found, property):
        made = annotations_of(found.fget).get("return", object)
    if isinstance(made, TypeVar):
        places: tuple[object, ...] = getattr(kind, "__parameters__", ())
        bound: dict[object, object] = dict(zip(places, get_args(owner), strict=False))
        made = bound.get(made, object)
    return object if isinstance(made, TypeVar) else made


def read_names(code: CodeType) -> list[str]:
    """Return the attributes, global names and words that a lambda reads, without repetitions.

    `lambda _, order: order.customer` reads `customer`, `lambda _, order: order["day"]` reads `day`;
    `lambda _, word: word` reads nothing but its argument, which is called `value`, or `key`. Names
    of arguments do not count. The result is the same for each Python version: the order of the
    names is that of the code, or alphabetical if the lambda has a comprehension.
    """
    names = [*dict.fromkeys(_reads(code))]
    if not names:
        return _argument(code)
    return sorted(names) if _has_comprehension(code) else names


def _reads(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _reads(constant)
        elif isinstance(constant, str) and _WORD.fullmatch(constant):
            yield constant


def _has_comprehension(code: CodeType) -> bool:
    inlined = any(step.opname == "LOAD_FAST_AND_CLEAR" for step in dis.get_instructions(code))
    return inlined or any(
        isinstance(each, CodeType) and (each.co_name in _COMPREHENSIONS or _has_comprehension(each))
        for each in code.co_consts
    )


def _argument(code: CodeType) -> list[str]:
    """Return `["key"]` or `["value"]` for a lambda that returns this argument; else `[]`."""
    steps: list[Any] = [s for s in dis.get_instructions(code) if s.opname not in _SKIPPED]
    if code.co_argcount != 2 or len(steps) != 1 or steps[0].opname not in _ONE:
        return []
    return ["key" if steps[0].argval == code.co_varnames[0] else "value"]
