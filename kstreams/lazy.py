"""Names of a module that are loaded at their first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ("lazy_names",)


def lazy_names(module: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a module some of whose names are loaded at their first use.

    For names that need pyspark, or a package that need not be installed. Assign it where no type
    checker looks (`if TYPE_CHECKING: ... else: ...`): with a `__getattr__` in sight, a checker
    lets every name pass, the misspelt ones too.

    Args:
        module: The module's name.
        places: Where each of the names is defined.

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
