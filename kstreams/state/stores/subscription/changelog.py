"""The changelog of subscription stores: the store's rows, with unchanged keys and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from typing_extensions import override

from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import Before, ChangelogRecord, PlainForm
from kstreams.state.stores.subscription.rows import SubscriptionRows

__all__ = ("SubscriptionForm",)


class SubscriptionForm(PlainForm):
    """The changelog format of a subscription store: one record for each row.

    A record's key is the row key (foreign key and own key), its value is the left value, and its
    timestamp is the time of the batch.
    """

    @override
    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        for key, value in changes:
            yield ChangelogRecord(key, value, time_ms)

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        put = SubscriptionRows.of(self._spec.open(overlay)).put
        return lambda record: put(record.key, record.value)
