"""The changelog of key-value stores whose values expire."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import (
    Before,
    ChangelogRecord,
    PlainForm,
    stamped_record,
)
from kstreams.state.stores.key_value.expiring import ExpiringRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import row_of

__all__ = ("ExpiringForm",)


class ExpiringForm(PlainForm):
    """The changelog format of a key-value store with a time to live.

    A record has the store's key and value, and the time at which the value was put.

    Args:
        spec: The store.
        ttl_ms: The time to live, ms.
    """

    def __init__(self, spec: StoreSpec[Any], ttl_ms: int) -> None:
        super().__init__(spec)
        self._ttl_ms = ttl_ms

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield a record for each changed value; index entries are skipped."""
        for pair in changes:
            row = row_of(*pair)
            if row is not None:
                found = stamped_record(self._plain(row[0]), row[1], time_ms)
                put_ms = max(found.timestamp - self._ttl_ms, 0)
                yield found if found.value is None else found._replace(timestamp=put_ms)

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Return a function that sets a value with its remaining time to live, or deletes a key."""
        rows: ExpiringRows[Any, Any] = ExpiringRows.of(self._spec.open(overlay))

        def restore(record: ChangelogRecord) -> None:
            key, value = self._decoded(record)
            if value is None:
                rows.put(key, None)
            else:
                rows.put_until(key, value, record.timestamp + self._ttl_ms)

        return restore
