"""Which kinds of stores have a changelog, and in what form."""

from __future__ import annotations

from typing import Any

from kstreams.errors import TopologyError
from kstreams.state.changelog.form import ChangelogForm
from kstreams.state.changelog.key_values import ExpiringForm, KeyValueForm, TimestampedForm
from kstreams.state.changelog.versions import VersionedForm
from kstreams.state.changelog.windows import SessionForm, WindowForm
from kstreams.state.key_value import ExpiringFactory, KeyValueStore
from kstreams.state.session_store import SessionStore
from kstreams.state.spec import StoreSpec
from kstreams.state.timestamped_store import TimestampedStore
from kstreams.state.versioned_store import VersionedFactory
from kstreams.state.window_store import WindowStore

__all__ = ("changelog_form",)


def changelog_form(spec: StoreSpec[Any]) -> ChangelogForm:
    """Return the form of a store's changelog.

    Raises:
        TopologyError: Stores of this kind have none.
    """
    factory: Any = spec.factory
    if factory is KeyValueStore:
        return KeyValueForm(spec.key, spec.value)
    if factory is TimestampedStore:
        return TimestampedForm(spec.key, spec.value)
    if factory is WindowStore:
        return WindowForm(spec.key, spec.value)
    if factory is SessionStore:
        return SessionForm(spec.key, spec.value)
    if isinstance(factory, ExpiringFactory):
        return ExpiringForm(spec.key, spec.value, factory.ttl_ms)
    if isinstance(factory, VersionedFactory):
        return VersionedForm(spec.key, spec.value, factory.retention_ms)
    raise TopologyError(
        f"store {spec.name!r} is a {spec.kind} store, which has no changelog",
        hint="key-value, timestamped, versioned, window and session stores have one",
    )
