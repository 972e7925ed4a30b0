"""Pickles the classes of msgspec Structs by value, for workers that cannot import them.

msgspec defines the fields of a Struct when its class is created. cloudpickle creates an empty class
first and sets its members afterwards, so a Struct class that is defined in a script would have no
fields in workers. This module also works if msgspec is not installed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ("is_struct", "make_struct", "struct_arguments")

_CONFIG = (
    *("frozen", "eq", "order", "array_like", "gc", "weakref", "dict", "cache_hash"),
    *("repr_omit_defaults", "omit_defaults", "forbid_unknown_fields", "tag", "tag_field"),
)


def is_struct(type_: type) -> bool:
    """Return whether a class is a msgspec Struct with at least one field, own or inherited."""
    return hasattr(type_, "__struct_config__") and bool(getattr(type_, "__struct_fields__", ()))


def struct_arguments(type_: Any) -> tuple[str, tuple[type, ...], dict[str, Any], dict[str, Any]]:  # noqa: ANN401  # a class of msgspec
    """Return the arguments of `make_struct` for a class.

    The types of the fields are `object`: cloudpickle sets the types later, because they may refer
    to the class itself.
    """
    defaults = type_.__struct_defaults__
    names = type_.__struct_fields__
    optional = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    own = [name for name in vars(type_).get("__annotations__", {}) if name in names]
    parameters = inspect.signature(type_).parameters
    required = {name for name in own if parameters[name].default is inspect.Parameter.empty}
    members: dict[str, Any] = {
        "__module__": type_.__module__,
        "__qualname__": type_.__qualname__,
        "__annotations__": dict.fromkeys(own, object),
        **{name: _sent(optional[name]) for name in own if name in optional.keys() - required},
    }
    options = {name: getattr(type_.__struct_config__, name) for name in _CONFIG}
    encoded = dict(zip(names, type_.__struct_encode_fields__, strict=True))
    options["rename"] = {name: encoded[name] for name in own if encoded[name] != name} or None
    kinds = {parameters[name].kind for name in own}
    options["kw_only"] = inspect.Parameter.KEYWORD_ONLY in kinds
    return type_.__name__, type_.__bases__, members, options


def make_struct(
    name: str, bases: tuple[type, ...], members: dict[str, Any], options: dict[str, Any]
) -> type:
    """Create a Struct class in a worker, from the result of `struct_arguments`."""
    metaclass: Any = type(bases[0])
    msgspec = import_module(metaclass.__module__.partition(".")[0])
    for field, value in members.items():
        if isinstance(value, _Factory):
            members[field] = msgspec.field(default_factory=value.make)
    made: type = metaclass(name, bases, members, **options)
    return made


@dataclass(frozen=True)
class _Factory:
    """The factory of a field's default value; `msgspec`'s class for it cannot be pickled."""

    make: Callable[[], object]


def _sent(default: Any) -> object:  # noqa: ANN401  # of any field
    return _Factory(default.factory) if type(default).__name__ == "Factory" else default
