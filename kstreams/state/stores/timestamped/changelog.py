"""The changelog of timestamped stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from typing_extensions import override

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
    """The changelog format of a timestamped store: keys, values and the values' timestamps."""

    @override
    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        for key, value in changes:
            yield stamped_record(self._plain(key), value, time_ms)

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        put, decoded = self._spec.open(overlay).put, self._decoded
        return lambda record: put(*decoded(record), record.timestamp)
