"""Options with a few valid values, which are checked when the function is called."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from kstreams.errors import OptionError
from kstreams.names import shown_name

__all__ = ("checks_options", "options_of")

T = TypeVar("T", bound=Callable[..., Any])
"""A function, a method or a class."""

_UNKNOWN = object()


def checks_options(target: T) -> T:
    """Decorate a function, or the constructor of a class, to check its options at each call.

    An option is a parameter whose annotation has a `Literal` or is a union of several classes of
    the library. Do not decorate functions that are called for each record.

    Raises:
        OptionError: At a call: an option has an invalid value. The message lists the valid values.
    """
    if isinstance(target, type):
        kind: Any = target
        kind.__init__ = _checked(kind.__init__, kind.__qualname__)
        return cast("T", kind)
    return cast("T", _checked(target, target.__qualname__))


def options_of(function: Callable[..., Any]) -> dict[str, tuple[object, ...]]:
    """Return the options of a function: for each parameter name, its valid values and classes."""
    module = sys.modules.get(function.__module__)
    names = {**vars(sys.modules["typing"]), **(vars(module) if module else {})}
    found: dict[str, tuple[object, ...]] = {}
    for parameter in inspect.signature(function).parameters.values():
        alternatives = tuple(_alternatives(_evaluated(parameter.annotation, names)))
        if _is_option(alternatives):
            found[parameter.name] = alternatives
    return found


def _checked(function: Callable[..., Any], shown: str) -> Callable[..., Any]:
    @cache
    def known() -> tuple[inspect.Signature, dict[str, tuple[object, ...]]]:
        return inspect.signature(function), options_of(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # of any function
        signature, options = known()
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:  # the call itself says it better
            return function(*args, **kwargs)
        wrong = [
            (name, given[name], alternatives)
            for name, alternatives in options.items()
            if name in given and not _fits(given[name], alternatives)
        ]
        if wrong:
            raise _error(shown.removesuffix(".__init__"), wrong)
        return function(*args, **kwargs)

    return call


def _evaluated(annotation: object, names: dict[str, object]) -> object:
    if not isinstance(annotation, str):
        return annotation
    try:
        evaluated: object = eval(annotation, names)  # noqa: S307  # our own source
    except NameError:  # a name for type checkers alone
        return _UNKNOWN
    return evaluated


def _alternatives(annotation: object) -> Iterator[object]:
    """Yield the parts of an annotation: `Literal` values, classes and None; else `_UNKNOWN`."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _alternatives(part)
    elif origin is Literal:
        yield from (Literal[value] for value in get_args(annotation))
    elif isinstance(origin or annotation, type):
        kind = cast("type", origin or annotation)
        yield kind if _can_tell(kind) else _UNKNOWN
    elif annotation is None:
        yield NoneType
    else:
        yield _UNKNOWN


def _is_option(alternatives: tuple[object, ...]) -> bool:
    if _UNKNOWN in alternatives:
        return False
    own = {each for each in alternatives if isinstance(each, type) and each is not NoneType}
    if any(get_origin(each) is Literal for each in alternatives):
        return True
    return len(own) > 1 and all(each.__module__.startswith("kstreams") for each in own)


def _fits(value: object, alternatives: tuple[object, ...]) -> bool:
    literals = [get_args(each)[0] for each in alternatives if get_origin(each) is Literal]
    if any(type(value) is type(each) and value == each for each in literals):
        return True
    kinds = [each for each in alternatives if isinstance(each, type)]
    if isinstance(value, str) and literals and str not in kinds:
        return False  # no sequence of characters
    return any(isinstance(value, kind) for kind in kinds)


def _can_tell(kind: type) -> bool:
    """Return whether `isinstance` works with a class; for some protocols it does not."""
    try:
        isinstance(None, kind)
    except TypeError:
        return False
    return True


def _error(shown: str, wrong: list[tuple[str, object, tuple[object, ...]]]) -> OptionError:
    texts = [
        f"{name} is {shown_name(value)}, expected {_listed(alternatives)}"
        for name, value, alternatives in wrong
    ]
    near = [
        f"{name}={match!r}"
        for name, value, alternatives in wrong
        if (match := _nearest(value, alternatives)) is not None
    ]
    hint = f"did you mean {', '.join(near)}?" if near else "pass one of the listed values."
    return OptionError(f"{shown}: {'; '.join(texts)}", hint=hint)


def _listed(alternatives: tuple[object, ...]) -> str:
    shown = [
        repr(get_args(each)[0])
        if get_origin(each) is Literal
        else "None"
        if each is NoneType
        else getattr(each, "__name__", str(each))
        for each in alternatives
    ]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _nearest(value: object, alternatives: tuple[object, ...]) -> str | None:
    known = [get_args(each)[0] for each in alternatives if get_origin(each) is Literal]
    by_lower = {each.lower(): each for each in known if isinstance(each, str)}
    if not isinstance(value, str):
        return None
    found = get_close_matches(value.lower(), list(by_lower), 1)
    return by_lower[found[0]] if found else None
