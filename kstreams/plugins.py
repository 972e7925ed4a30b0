"""Plugins: parts of the library from installed packages, found by name.

A package offers a plugin by an entry point of one of these groups:

- `kstreams.stores`: a class or function that creates a state backend, or the settings of a durable
  log. If its name is the scheme of a checkpoint's URL, it is called with the URL.
- `kstreams.store_kinds`: a `StoreKind`, or a function that creates one.
- `kstreams.connectors`: a class or function that creates a `Sink`.
- `kstreams.serdes`: a serde, or a function that creates one.
- `kstreams.serde_texts`: a `SerdeByText`, which parses the name of a serde on a command line.
- `kstreams.commands`: a function that is a command of the program `kstreams`.
- `kstreams.watchers`: a function of an app id and a `Clock` that creates a `Watcher`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from types import MappingProxyType
from typing import Literal

from kstreams.errors import PluginError
from kstreams.user_code import library_distributions

__all__ = ("PluginGroup", "load_plugin", "missing_extra", "plugin_names")

PluginGroup = Literal[
    "kstreams.stores",
    "kstreams.store_kinds",
    "kstreams.connectors",
    "kstreams.serdes",
    "kstreams.serde_texts",
    "kstreams.commands",
    "kstreams.watchers",
]
"""The groups of entry points that the library reads."""


def plugin_names(group: PluginGroup) -> tuple[str, ...]:
    """Return the names of installed plugins, sorted, without importing the plugins.

    The installed packages are searched once per process.
    """
    return tuple(_found(group))


def load_plugin(group: PluginGroup, name: str) -> object:
    """Import the plugin of a name, and no other plugin.

    Raises:
        PluginError: No package offers the name, several packages offer different plugins under it,
            or the named object does not exist.
        ImportError: The plugin needs a package that is not installed; the message names it.
    """
    found = _found(group)
    if name not in found:
        raise PluginError(
            f"there is no plugin {name!r} in {group}; installed plugins: "
            f"{', '.join(found) or 'none'}",
            hint=_guess(name, found),
        )
    first, *others = found[name]
    if others:
        claims = ", ".join(sorted(_claim(point) for point in found[name]))
        raise PluginError(
            f"several packages offer {name!r} as a plugin in {group}: {claims}",
            hint="uninstall all but one of them.",
        )
    try:
        return first.load()
    except AttributeError as exc:
        raise PluginError(
            f"plugin {name!r} in {group} names {_claim(first)}, which does not exist: {exc}"
        ) from exc


def missing_extra(name: str) -> str:
    """Return the extra of `kstreams-spark` whose package offers a plugin and is not installed.

    Args:
        name: The name of the plugin. It begins with the name of the extra: `redis-stream`.

    Returns:
        The extra; empty if there is none for the plugin, or its package is installed.
    """
    extra = name.partition("-")[0]
    package = f"kstreams-{extra}"
    if package not in library_distributions():
        return ""
    try:
        distribution(package)
    except PackageNotFoundError:
        return extra
    return ""


@cache
def _found(group: PluginGroup) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group, by name; equal entry points count once."""
    by_name: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=group):
        by_name.setdefault(point.name, {}).setdefault(point.value, point)
    return MappingProxyType({name: tuple(by_name[name].values()) for name in sorted(by_name)})


def _claim(point: EntryPoint) -> str:
    return f"{point.value} of {point.dist.name}" if point.dist else point.value


def _guess(name: str, found: Mapping[str, object]) -> str:
    extra = missing_extra(name)
    if extra:
        return f"pip install 'kstreams-spark[{extra}]'."
    near = difflib.get_close_matches(name, found, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "install the package that offers the plugin, or pass the object instead of its name."
