"""The changelog of subscription stores: rows as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import Before, ChangelogRecord, PlainForm
from kstreams.state.stores.subscription.rows import SubscriptionRows

__all__ = ("SubscriptionForm",)


class SubscriptionForm(PlainForm):
    """A row's key (foreign key and own key), and the left value; the time is the batch's."""

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield a record a row."""
        for key, value in changes:
            yield ChangelogRecord(key, value, time_ms)

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Set or delete the row of each record."""
        put = SubscriptionRows.of(self._spec.open(overlay)).put
        return lambda record: put(record.key, record.value)
