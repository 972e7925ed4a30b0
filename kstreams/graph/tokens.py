"""Runtime type tokens: the types of keys and values that are known when a topology is built.

`build()` checks the types of connected nodes, for code that no type checker has checked. `object`
means "not known" and matches everything.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, ForwardRef, TypeVar, Union, get_args, get_origin

__all__ = ("accepts", "show", "type_arguments", "without_none")

_PROMOTED: dict[object, tuple[type, ...]] = {float: (int,), complex: (int, float)}
"""The number types that type checkers implicitly accept in place of another number type."""


def type_arguments(cls: type, base: type) -> tuple[object, ...]:
    """Return the type arguments with which a class inherits from a generic base.

    A type variable without an argument is returned as `object`.
    """
    nothing: dict[object, object] = {}
    bound = _bind(cls, base, nothing)
    count = len(getattr(base, "__parameters__", ()))
    if bound is None:
        return (object,) * count
    unknown = (TypeVar, str, ForwardRef)
    return tuple(object if isinstance(token, unknown) else token for token in bound)


def _bind(cls: type, base: type, given: dict[object, object]) -> tuple[object, ...] | None:
    if cls is base:
        return tuple(given.get(p, p) for p in getattr(base, "__parameters__", ()))
    for parent in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(parent) or parent
        if not (isinstance(origin, type) and issubclass(origin, base)):
            continue
        parameters = getattr(origin, "__parameters__", ())
        arguments: tuple[Any, ...] = get_args(parent) or parameters
        return _bind(origin, base, _known(parameters, arguments, given))
    return None


def _known(
    parameters: tuple[Any, ...], arguments: tuple[Any, ...], given: dict[object, object]
) -> dict[object, object]:
    """Return the arguments of type parameters; a parameter without an argument has its default.

    Args:
        parameters: The type parameters of a class.
        arguments: The arguments with which a subclass inherits from the class.
        given: The arguments of the subclass's own type parameters.
    """
    known: dict[object, object] = {}
    for place, parameter in enumerate(parameters):
        if place < len(arguments):
            argument = arguments[place]
        else:
            argument = getattr(parameter, "__default__", parameter)
        if isinstance(argument, TypeVar):  # Python 3.13 has defaults among the arguments, too
            argument = given.get(argument, known.get(argument, argument))
        known[parameter] = _none_type(argument)
    return known


def _none_type(token: object) -> object:
    return type(None) if token is None else token


def accepts(expected: object, actual: object) -> bool:
    """Return whether an input of type `expected` accepts values of type `actual`."""
    expected, actual = _bare(expected), _bare(actual)
    if expected in (object, Any) or actual in (object, Any) or expected == actual:
        return True
    if _is_union(actual):
        return all(accepts(expected, part) for part in get_args(actual))
    if _is_union(expected):
        return any(accepts(part, actual) for part in get_args(expected))
    wanted, got = get_origin(expected) or expected, get_origin(actual) or actual
    if not (isinstance(wanted, type) and isinstance(got, type)):
        return True
    if wanted in _PROMOTED and got in _PROMOTED[wanted]:
        return True
    try:
        return issubclass(got, wanted)
    except TypeError:  # a protocol or a TypedDict: not to be known at run time
        return True


def without_none(token: object) -> object:
    """Return a type without None: `int` for `int | None`, and `object` for None alone."""
    if token is type(None):
        return object
    if not _is_union(token):
        return token
    parts = [part for part in get_args(token) if part is not type(None)]
    return Union[tuple(parts)] if parts else object  # noqa: UP007  # made of a tuple


def _bare(token: object) -> object:
    return get_args(token)[0] if get_origin(token) is Annotated else token


def _is_union(token: object) -> bool:
    return get_origin(token) in (Union, types.UnionType)


def show(token: object) -> str:
    """Return a type as it is written in code; type variables without a value are left out."""
    token = _bare(token)
    if token is type(None):
        return "None"
    origin, parts = get_origin(token), get_args(token)
    if _is_union(token):
        return " | ".join(map(show, parts))
    if isinstance(origin, type) and parts:
        if any(isinstance(part, TypeVar) for part in parts):
            return origin.__name__
        return f"{origin.__name__}[{', '.join(map(_shown_part, parts))}]"
    return token.__name__ if isinstance(token, type) and not parts else str(token)


def _shown_part(part: object) -> str:
    if isinstance(part, list):  # the parameters of a callable
        return f"[{', '.join(map(show, part))}]"
    return "..." if part is Ellipsis else show(part)
