"""Kinds of stores: what it takes to write one.

Derive from `StoreKind`. `open` is all that a topology needs: it returns the live store, which
reads and writes rows through a part of the task's `Overlay` (`overlay.store(...)`, a
`StoreOverlay`), by serdes of rows that are `CompositeSerde`s as a rule. Each other method lets one
more part of the library work with the kind: changelogs (`ChangelogForm`, of which `PlainForm` is
the simplest), views and `kstreams state`, migrations, reading ahead.

A store of the kind is defined by a `StoreSpec`; views read whatever its live store has by the names
of `View`, and anything else by functions. A package offers a kind to the command line by an entry
point of the group `kstreams.store_kinds`, with the kind's name.

`docs/extending.md` has a kind with all of it.
"""

from __future__ import annotations

from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.changelog_form import (
    Before,
    ChangelogForm,
    ChangelogRecord,
    Pair,
    PlainForm,
)
from kstreams.state.stores.kind import AheadRows, Content, StoreKind, Times
from kstreams.state.stores.known_kinds import find_kind
from kstreams.state.stores.spec import StoreSpec

__all__ = (
    "AheadRows",
    "Before",
    "ChangelogForm",
    "ChangelogRecord",
    "CompositeSerde",
    "Content",
    "Overlay",
    "Pair",
    "PlainForm",
    "StoreKind",
    "StoreOverlay",
    "StoreSpec",
    "Times",
    "find_kind",
    "read_int64",
    "sortable_int64",
)
