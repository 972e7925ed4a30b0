"""Which kinds of stores have a changelog, and in what form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kstreams.errors import TopologyError
from kstreams.serde.base import Serde
from kstreams.state.stores.buffer.store import BufferStore
from kstreams.state.stores.changelog.form import ChangelogForm
from kstreams.state.stores.changelog.key_values import ExpiringForm, KeyValueForm, TimestampedForm
from kstreams.state.stores.changelog.lists import ListForm
from kstreams.state.stores.changelog.rows import PendingForm, RowForm
from kstreams.state.stores.changelog.versions import VersionedForm
from kstreams.state.stores.changelog.windows import SessionForm, WindowForm
from kstreams.state.stores.emit_buffer.store import PendingStore
from kstreams.state.stores.key_value.store import ExpiringFactory, KeyValueStore
from kstreams.state.stores.list.store import ListStore
from kstreams.state.stores.rate_limit.store import PacedStore
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.sliding.store import SlidingStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.store import VersionedFactory
from kstreams.state.stores.window.store import WindowStore

__all__ = ("changelog_form",)


_FORMS: Mapping[Any, Callable[[Serde[Any], Serde[Any]], ChangelogForm]] = {
    KeyValueStore: KeyValueForm,
    TimestampedStore: TimestampedForm,
    WindowStore: WindowForm,
    SessionStore: SessionForm,
    ListStore: ListForm,
    SlidingStore: RowForm,
    BufferStore: RowForm,
    PacedStore: RowForm,
    PendingStore: PendingForm,
}


def changelog_form(spec: StoreSpec[Any]) -> ChangelogForm:
    """Return the form of a store's changelog.

    Raises:
        TopologyError: The store is of a user's own kind, whose rows nobody knows.
    """
    factory: Any = spec.factory
    if isinstance(factory, type) and factory in _FORMS:
        return _FORMS[factory](spec.key, spec.value)
    if isinstance(factory, ExpiringFactory):
        return ExpiringForm(spec.key, spec.value, factory.ttl_ms)
    if isinstance(factory, VersionedFactory):
        return VersionedForm(spec.key, spec.value, factory.retention_ms)
    raise TopologyError(
        f"store {spec.name!r} is of kind {spec.kind!r}, which has no changelog: "
        "how its rows become records is not known",
        hint="leave with_changelog out, or use one of the library's stores",
    )
