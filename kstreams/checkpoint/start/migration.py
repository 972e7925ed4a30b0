"""Migrations: the conversion of a store's contents for another definition of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from kstreams.checkpoint.start.window_moves import joined_sessions, joined_windows, window_moves
from kstreams.errors import CheckpointMismatchError, ProcessingError
from kstreams.quoting import kind_of, text_of
from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.kind import Content
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.rows import WindowRows
from kstreams.windows.contract import TimeWindows
from kstreams.windows.kinds.session import SessionWindows

__all__ = ("Migration", "migrate_store")

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Migration:
    """Fills a store of a changed topology from an old store.

    Keys stay the same, because keys decide which task owns a value. Times of windows, sessions and
    timestamps stay, too. `convert` runs on the driver before the app starts, once for each value;
    nothing is changed unless all calls succeed. Key-value, timestamped, versioned, window, session
    and sliding stores can be migrated, each into its own kind, and so can custom kinds that support
    it. A timestamped store can also become a versioned store, with each value as the first version,
    and a versioned store a timestamped store, with the latest versions as values.

    A change of window sizes or positions needs the old windows: `window_store(..., windows=...)` as
    `old`. The value of an old window is added to each new window that contains the old window; if
    a new window cuts an old window, or old windows overlap, the migration is rejected. Sessions
    within a longer gap are merged. Sliding windows use the new difference for new records.

    Args:
        old: The definition of the old store, with its old name.
        convert: Called with key and old value; returns the new value, or None to omit the key (in
            a versioned store: to delete the key from that version on). By default values stay
            the same, for a store that was only renamed.
        merge: Called with two converted values of one key that belong to one new window or session,
            the earlier value first; returns the merged value, like the aggregator's `merge`.
    """

    old: StoreSpec[object]
    convert: Callable[..., object] | None = None
    merge: Callable[..., object] | None = None


def migrate_store(
    migration: Migration,
    new: StoreSpec[Any],
    source: WorkingStore,
    target: WorkingStore,
    *,
    windows: TimeWindows | SessionWindows | None = None,
) -> int:
    """Fill a task's new store from its old store; return the number of rows.

    Args:
        migration: The old definition, and the conversion of keys and values.
        new: The definition of the new store.
        source: The task's old working store.
        target: An empty working store with the new stores.
        windows: The windows of the new store, if they are known and may differ.

    Raises:
        CheckpointMismatchError: The kinds differ, or cannot be migrated; or old windows do not fit
            into the new windows.
        ProcessingError: `convert` or `merge` raised; the error names store and key.
        SerdeError: An old value cannot be decoded, or a new value cannot be encoded.
    """
    old = migration.old
    if not new.kind.takes(old.kind):
        raise CheckpointMismatchError(
            f"store {old.name!r} of kind {old.kind.name} cannot be migrated to store {new.name!r} "
            f"of kind {new.kind.name}",
            hint="migrate to a store of the same kind, or reset the store.",
        )
    overlay = Overlay(target)
    contents, fill = _contents(migration, Overlay(source)), new.kind.filling(new, overlay)
    merge = partial(_merged, migration)
    if isinstance(windows, SessionWindows):
        contents = joined_sessions(contents, windows.gap_ms, merge)
    elif (move := window_moves(old, windows)) is not None:
        fill = joined_windows(WindowRows.of(new.open(overlay)), move, merge)
    count = 0
    for content in contents:
        fill(content)
        count += 1
        if count % _ROWS_AT_ONCE == 0:
            target.write(overlay.changes())
            overlay.forget()
    target.write(overlay.changes())
    return count


def _contents(migration: Migration, source: Overlay) -> Iterator[Content]:
    """Yield the converted rows of an old store, without rows that `convert` omits."""
    old = migration.old
    for content in old.kind.contents(old, source):
        value = content.value
        converted = None if value is None else _converted(migration, content.key, value)
        if converted is not None or old.kind.has_history:
            yield content._replace(value=converted)


def _merged(migration: Migration, key: object, earlier: object, later: object) -> object:
    merge = migration.merge
    if merge is None:
        raise CheckpointMismatchError(
            f"store {migration.old.name!r}: two windows of key {key!r} become one, but the "
            "migration has no merge=",
            hint="merge states as the aggregator does: Migration(..., merge=aggregator.merge).",
        )
    return _called(migration, key, lambda: merge(earlier, later))


def _converted(migration: Migration, key: object, value: object) -> object:
    convert = migration.convert
    return value if convert is None else _called(migration, key, lambda: convert(key, value))


def _called(migration: Migration, key: object, function: Callable[[], object]) -> object:
    try:
        return function()
    except Exception as exc:
        raise ProcessingError(
            f"the migration raised {kind_of(exc)}: {text_of(exc)}",
            cause_type=type(exc).__name__,
            hint="nothing was changed; fix the function and start again.",
        ).at(store=migration.old.name, key=key) from exc
