"""The changelog of versioned stores: one record per version, the latest version of a key last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import (
    COMPACTED,
    Before,
    ChangelogRecord,
    PlainForm,
    values_before,
)
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.versioned.rows import (
    VersionedRows,
    key_of_version,
    latest_row,
    read_end,
    read_version,
)

__all__ = ("VersionedForm",)

_DAY_MS = 24 * 60 * 60 * 1000
_NONE: Final = object()


class VersionedForm(PlainForm):
    """The changelog format of a versioned store: key, value, and the time when validity starts.

    Kafka compacts a record at the earliest a day after the retention, so the topic has all versions
    within the retention. For a changed key, the latest version is written last; if the key was
    deleted before the retention, a tombstone is written last. So compaction keeps the valid value.

    Args:
        spec: The store.
        retention_ms: The store's retention, ms.

    Source: the changelog of `VersionedKeyValueStore` (KIP-889).
    """

    def __init__(self, spec: StoreSpec[Any], retention_ms: int) -> None:
        super().__init__(spec)
        self.config = {**COMPACTED, "min.compaction.lag.ms": str(retention_ms + _DAY_MS)}

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield a record for each added or changed version, by key, then by time."""
        after = dict(changes)
        rows: dict[bytes, list[bytes]] = {}
        for row in after:
            if (key := key_of_version(row)) is not None:
                rows.setdefault(key, [latest_row(key)]).append(row)
        held = values_before(before, sorted({row for own in rows.values() for row in own}))
        now = {**held, **after}
        for key, own in sorted(rows.items()):
            old, new = _versions(held, own), _versions(now, own)
            fresh = {start for start, value in new.items() if old.get(start, _NONE) != value}
            plain = self._plain(key)
            for start in sorted({*fresh, max(new)} if fresh else ()):
                yield ChangelogRecord(plain, new[start], start)
            latest = held[own[0]]
            if now[own[0]] is None and (fresh or (latest and read_version(latest)[1] is not None)):
                ends = (read_end(data) for row in own[1:] if (data := now[row]) is not None)
                begun = () if latest is None else (read_version(latest)[0],)
                yield ChangelogRecord(plain, None, max((*ends, *begun)))

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        rebuild = VersionedRows.of(self._spec.open(overlay)).rebuild
        decoded = self._decoded
        return lambda record: rebuild(*decoded(record), record.timestamp)


def _versions(rows: Mapping[bytes, bytes | None], own: Iterable[bytes]) -> dict[int, bytes | None]:
    """Return the encoded values of the versions with row keys in `own`, by start time (ms)."""
    return dict(read_version(data) for row in own if (data := rows[row]) is not None)
