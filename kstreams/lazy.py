"""Names of a module that are loaded at their first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ("lazy_names",)


def lazy_names(module: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for a module that loads some names at their first use.

    Use it for names that need pyspark or an optional package. Hide the assignment from type
    checkers (`if TYPE_CHECKING: ... else: ...`): with a visible `__getattr__`, a checker accepts
    misspelled names.

    Args:
        module: The name of the module.
        places: The module that defines each name.

    Example:
        >>> lazy_names("json", {"loads": "json.decoder"})("no_such_name")
        Traceback (most recent call last):
            ...
        AttributeError: module 'json' has no attribute 'no_such_name'
    """

    def load(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found: object = getattr(import_module(places[name]), name)
        setattr(sys.modules[module], name, found)
        return found

    return load
