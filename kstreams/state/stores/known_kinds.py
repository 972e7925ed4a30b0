"""Lookup of kinds of stores by the names that are recorded with the state."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Final

from kstreams.errors import StoreKindError
from kstreams.plugins import load_plugin, plugin_names
from kstreams.state.stores.buffer.kind import BUFFER
from kstreams.state.stores.emit_buffer.kind import EMIT_BUFFER
from kstreams.state.stores.join.kind import JOIN
from kstreams.state.stores.key_value.kind import KEY_VALUE, expiring_kind
from kstreams.state.stores.kind import StoreKind
from kstreams.state.stores.list.kind import LIST
from kstreams.state.stores.queue.kind import QUEUE
from kstreams.state.stores.rate_limit.kind import RATE_LIMIT
from kstreams.state.stores.session.kind import SESSION
from kstreams.state.stores.sliding.kind import SLIDING
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.subscription.kind import SUBSCRIPTION
from kstreams.state.stores.timestamped.kind import TIMESTAMPED
from kstreams.state.stores.versioned.kind import versioned_kind
from kstreams.state.stores.window.kind import WINDOW

__all__ = ("BUILT_IN_KINDS", "find_kind")

_GROUP: Final = "kstreams.store_kinds"
_ANY_SPAN = timedelta(days=1)  # rows know when they expire; nothing is put
_ALL_TIME = timedelta(days=365_000)  # all versions that are there

BUILT_IN_KINDS: tuple[StoreKind[Any], ...] = (
    KEY_VALUE,
    expiring_kind(_ANY_SPAN, "stream"),
    expiring_kind(_ANY_SPAN, "wall"),
    TIMESTAMPED,
    WINDOW,
    SESSION,
    versioned_kind(_ALL_TIME),
    LIST,
    SLIDING,
    BUFFER,
    EMIT_BUFFER,
    RATE_LIMIT,
    JOIN,
    QUEUE,
    SUBSCRIPTION,
)
"""The library's kinds, with parameters that can read any store of each kind."""


def find_kind(name: str, stores: Iterable[StoreSpec[Any]] = ()) -> StoreKind[Any]:
    """Return the kind with a name, from a topology, the library, or an installed package.

    Args:
        name: The name that is recorded with the state of a store.
        stores: The stores of a topology, whose kinds take precedence.

    Raises:
        StoreKindError: No kind has this name, or an entry point is not a kind of store. The
            hint suggests a similar name, or a topology or package that may define the kind.
        PluginError: Several packages offer a kind with this name.
        ImportError: The package that offers the kind needs another package.
    """
    for kind in (*(spec.kind for spec in stores), *BUILT_IN_KINDS):
        if kind.name == name:
            return kind
    offered = plugin_names(_GROUP)
    if name not in offered:
        near = get_close_matches(name, offered, n=1)
        raise StoreKindError(
            f"there is no kind of store {name!r}: neither the library nor an installed package "
            "defines it",
            hint=f"did you mean {near[0]!r}?"
            if near
            else f"name the topology that defines the kind, or install the package that registers "
            f"the kind as an entry point of {_GROUP}.",
        )
    found = load_plugin(_GROUP, name)
    offer = found() if callable(found) else found
    if not isinstance(offer, StoreKind) or offer.name != name:
        raise StoreKindError(
            f"entry point {name!r} of {_GROUP} is {offer!r}, expected a StoreKind named {name!r}",
            hint="register such a StoreKind, or a function that returns one.",
        )
    return offer
