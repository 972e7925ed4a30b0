"""Carry a store's contents over into a store of another definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kstreams.errors import CheckpointMismatchError, ProcessingError
from kstreams.quoting import kind_of, text_of
from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec

__all__ = ("Migration", "migrate_store")

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Migration:
    """Where a store's contents come from when a topology has changed.

    Keys stay: they decide which task has a value. Times of windows, sessions and
    timestamps stay too. The function runs on the driver, once a value, before the app
    starts; nothing is changed unless it succeeds for all. Key-value, timestamped, versioned,
    window and session stores can be migrated, each into its own kind, and stores of custom
    kinds that say how. Timestamped and versioned stores become each other: a value is the
    first version then, and of versions the latest stays.

    Args:
        old: Definition of the store as it was; the name is the old one.
        convert: Called with key and old value; returns the new value, or None to leave the
            key out (of a versioned store: to have it none from that version on). By default
            values stay: for a store that was only renamed.
    """

    old: StoreSpec[object]
    convert: Callable[..., object] | None = None


def migrate_store(
    migration: Migration,
    new: StoreSpec[Any],
    source: WorkingStore,
    target: WorkingStore,
) -> int:
    """Write a task's new store from its old one; return how many rows there were.

    Args:
        migration: What to do.
        new: Definition of the new store.
        source: The task's working store as it was.
        target: An empty one, with the new stores.

    Raises:
        CheckpointMismatchError: The kinds differ, or are of a kind that cannot be migrated.
        ProcessingError: The function raised; names store and key.
        SerdeError: An old value does not decode, or a new one does not encode.
    """
    old = migration.old
    if not new.kind.takes(old.kind):
        raise CheckpointMismatchError(
            f"store {old.name!r} is of kind {old.kind.name}, and {new.name!r} of kind "
            f"{new.kind.name}",
            hint="migrate into the same kind, or reset the store.",
        )
    overlay = Overlay(target)
    fill = new.kind.filling(new, overlay)
    count = 0
    for content in old.kind.contents(old, Overlay(source)):
        value = content.value
        converted = None if value is None else _converted(migration, content.key, value)
        if converted is not None or old.kind.has_history:
            fill(content._replace(value=converted))
        count += 1
        if count % _ROWS_AT_ONCE == 0:
            target.write(overlay.changes())
            overlay.forget()
    target.write(overlay.changes())
    return count


def _converted(migration: Migration, key: object, value: object) -> object:
    if migration.convert is None:
        return value
    try:
        return migration.convert(key, value)
    except Exception as exc:
        raise ProcessingError(
            f"the migration raised {kind_of(exc)}: {text_of(exc)}",
            cause_type=type(exc).__name__,
            hint="nothing was changed; fix it and start again.",
        ).at(store=migration.old.name, key=key) from exc
