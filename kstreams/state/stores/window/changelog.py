"""The changelog of window stores, with Kafka Streams' windowed keys."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

from typing_extensions import override

from kstreams.serde.composite import read_int64
from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import (
    Before,
    ChangelogRecord,
    PlainForm,
    key_and_numbers,
    stamped_record,
)
from kstreams.state.stores.window.rows import WindowRows

__all__ = ("WindowForm",)

_START = struct.Struct(">q")


class WindowForm(PlainForm):
    """The changelog format of a window store: one record for each window of a key.

    A record's key has the key bytes and the window start; its timestamp is that of the value.

    Source: `org.apache.kafka.streams.kstream.TimeWindowedSerializer`.
    """

    @override
    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        for key, value in changes:
            windowed = self._plain(key[8:]) + _START.pack(read_int64(key))
            yield stamped_record(windowed, value, time_ms)

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        put = WindowRows.of(self._spec.open(overlay)).writer()

        def restore(record: ChangelogRecord) -> None:
            plain, (start,) = key_and_numbers(_START, record.key)
            key, value = self._decoded(record._replace(key=plain))
            put((start, key), None if value is None else (value, record.timestamp))

        return restore
