"""The changelog of versioned stores: a record a version, the latest of a key last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kstreams.serde.base import Serde
from kstreams.state.stores.changelog.form import COMPACTED, Before, Entry, Pair, values_before
from kstreams.state.stores.changelog.key_values import KeyValueForm
from kstreams.state.stores.versioned.rows import key_of_version, latest_row, read_version

__all__ = ("VersionedForm",)

_DAY_MS = 24 * 60 * 60 * 1000
_NONE: Final = object()


class VersionedForm(KeyValueForm):
    """Key and value, with the time from which on the value holds.

    The topic is compacted no sooner than the retention and a day, so that the versions
    within it are all there. Of a key with a change the latest version comes last: what
    compaction leaves is what holds.

    Args:
        key: Serde of the keys.
        value: Serde of the values.
        retention_ms: The store's.

    Source: the changelog of `VersionedKeyValueStore` (KIP-889).
    """

    def __init__(self, key: Serde[Any], value: Serde[Any], retention_ms: int) -> None:
        super().__init__(key, value)
        self.config = {**COMPACTED, "min.compaction.lag.ms": str(retention_ms + _DAY_MS)}

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield the versions that came or changed, by key and then by time."""
        after = dict(changes)
        rows: dict[bytes, list[bytes]] = {}
        for row in after:
            if (key := key_of_version(row)) is not None:
                rows.setdefault(key, [latest_row(key)]).append(row)
        held = values_before(before, sorted({row for own in rows.values() for row in own}))
        for key, own in sorted(rows.items()):
            old, new = _versions(held, own), _versions({**held, **after}, own)
            fresh = {start for start, value in new.items() if old.get(start, _NONE) != value}
            if fresh:
                plain = self._plain(key)
                for start in sorted({*fresh, max(new)}):
                    yield Entry(plain, new[start], start)

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # a live store
        """Set the version."""
        store.rebuild(*self._decoded(entry), entry.timestamp)


def _versions(rows: Mapping[bytes, bytes | None], own: Iterable[bytes]) -> dict[int, bytes | None]:
    """Return encoded values by start, of the rows that are there."""
    return dict(read_version(data) for row in own if (data := rows[row]) is not None)
