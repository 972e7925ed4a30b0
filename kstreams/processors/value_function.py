"""Find out whether a user's function takes a value, or a key and a value."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from kstreams.errors import TopologyError
from kstreams.processors.returned import function_name

__all__ = ("takes_key", "takes_value_only")


def takes_key(operator: str, function: Callable[..., object]) -> bool:
    """Return whether a function takes a key and a value, instead of a value alone.

    A function that can be called with one argument takes the value, and so does a function whose
    signature cannot be read, such as some builtins. A function that requires two arguments takes
    the key and the value.

    Raises:
        TopologyError: The argument is not a function, or accepts neither one argument nor two.
    """
    if not callable(function):
        raise TopologyError(
            f"{operator} takes a function, not a {type(function).__name__}",
            hint="pass a function of the value, or of the key and the value.",
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin that does not describe itself
        return False
    if _accepts(signature, None):
        return False
    if _accepts(signature, None, None):
        return True
    raise TopologyError(
        f"{operator}: function {function_name(function)!r} cannot be called with one argument or "
        f"with two: its signature is {signature}",
        hint="pass a function of the value, or of the key and the value; bind other arguments "
        "with functools.partial or a lambda.",
    )


def takes_value_only(function: Callable[..., object]) -> bool:
    """Return whether a function accepts a value alone, and not a key and a value.

    A function that accepts two arguments, or whose signature cannot be read, takes key and value.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin that does not describe itself, or no function
        return False
    return not _accepts(signature, None, None) and _accepts(signature, None)


def _accepts(signature: inspect.Signature, *arguments: None) -> bool:
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True
