"""Parts of stored names: the names of stores and edges that are derived from code.

A checkpoint finds state by these names, so a part depends only on the meaning of the code: the name
of a function or class, or a duration. Parts consist of lower-case letters, digits and dashes.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial

__all__ = ("dashed", "function_part", "kebab", "named_part", "span_part")

_MILLISECOND = timedelta(milliseconds=1)
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))


def kebab(name: str) -> str:
    """Return a name in lower case with dashes: `CountWords` is `count-words`.

    The result is empty if the name has no ASCII letter and no digit.
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    return re.sub(r"[^a-z0-9]+", "-", apart.lower()).strip("-")


def dashed(*parts: str) -> str:
    """Return the parts that are not empty, joined by dashes."""
    return "-".join(part for part in parts if part)


def function_part(function: object) -> str:
    """Return the name of a function, or of the class of a callable object; empty for a lambda."""
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__name__", None)
    if name == "<lambda>":
        return ""
    return kebab(name if isinstance(name, str) else type(function).__name__)


def named_part(value: object) -> str:
    """Return the attribute `name` of an object, or else the name of its class."""
    name = getattr(value, "name", None)
    own = kebab(name) if isinstance(name, str) else ""
    return own or kebab(type(value).__name__)


def span_part(span: timedelta) -> str:
    """Return a duration in the largest unit that divides it: `1m`, `90s`, `36h`, `7d`.

    Different durations have different texts; days have 24 hours.
    """
    ms = span // _MILLISECOND
    if not ms:
        return "0s"
    return next(f"{ms // size}{unit}" for unit, size in _UNITS if ms % size == 0)
