"""The changelog of timestamped stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import (
    Before,
    ChangelogRecord,
    PlainForm,
    stamped_record,
)

__all__ = ("TimestampedForm",)


class TimestampedForm(PlainForm):
    """Key and value, with the value's own time."""

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield a record a row."""
        for key, value in changes:
            yield stamped_record(self._plain(key), value, time_ms)

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Set or delete the key of each record."""
        put, decoded = self._spec.open(overlay).put, self._decoded
        return lambda record: put(*decoded(record), record.timestamp)
