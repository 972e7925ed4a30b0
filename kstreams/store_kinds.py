"""The interface for new store kinds.

Derive from `StoreKind`. A topology needs only `open`: it returns the live store, which reads and
writes rows in its part of the task's `Overlay` (`overlay.store(...)`, a `StoreOverlay`), with its
own `CompositeSerde` if rows are more than keys and values. Each other method supports one more part
of the library: changelogs (`ChangelogForm`; `PlainForm` is the simplest), tables (`TableAccess`,
which returns the `Replaced` row, and for joins by columns `TableColumns`, mostly `PresentColumns`),
views and `kstreams state`, migrations, and prefetching.

A `StoreSpec` defines a store of the kind. A `View` has the read methods of the live store (`get`,
`range`, `fetch`, ...), and takes a function of the live store for anything else. A package offers a
kind to the command line by an entry point of the group `kstreams.store_kinds` with the kind's name;
a topology has the kinds of its stores.

`docs/extending.md` develops a kind step by step.

Example:
    >>> from kstreams import INT64, TEXT
    >>> from kstreams.stores import StoreSpec
    >>> class Rows(StoreKind[StoreOverlay]):
    ...     def open(self, spec: StoreSpec[StoreOverlay], overlay: Overlay) -> StoreOverlay:
    ...         return overlay.store(spec.name, spec.key, spec.value)
    >>> StoreSpec("totals", Rows("plain-rows"), TEXT, INT64).schema()
    {'kind': 'plain-rows', 'key': 'text', 'value': 'int64'}
"""

from __future__ import annotations

from kstreams.serde.composite import CompositeSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.resident import Resident
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.changelog_form import (
    Before,
    ChangelogForm,
    ChangelogRecord,
    PlainForm,
)
from kstreams.state.stores.kind import AheadRows, Content, StoreKind, Times
from kstreams.state.stores.readable import FetchesAll, Ranges
from kstreams.state.stores.table_access import Replaced, TableAccess
from kstreams.state.stores.table_columns import Found, PresentColumns, TableColumns

__all__ = (
    "AheadRows",
    "Before",
    "ChangelogForm",
    "ChangelogRecord",
    "CompositeSerde",
    "Content",
    "FetchesAll",
    "Found",
    "Overlay",
    "PlainForm",
    "PresentColumns",
    "Ranges",
    "Replaced",
    "Resident",
    "StoreKind",
    "StoreOverlay",
    "TableAccess",
    "TableColumns",
    "Times",
)
