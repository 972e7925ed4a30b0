"""The changelog of session stores, with Kafka Streams' windowed keys."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

from typing_extensions import override

from kstreams.serde.sequences import divided
from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import (
    Before,
    ChangelogRecord,
    PlainForm,
    key_and_numbers,
    values_before,
)
from kstreams.state.stores.timed_rows import row_of
from kstreams.windowed import Windowed

__all__ = ("SessionForm",)

_BOUNDS = struct.Struct(">qq")


class SessionForm(PlainForm):
    """The changelog format of a session store: one record for each session.

    A record's key has the key bytes, and the session's end and start; its timestamp is the end.

    Source: `org.apache.kafka.streams.kstream.SessionWindowedSerializer`.
    """

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield a record for each session that was added, changed or deleted."""
        rows = [(pair[0], row) for pair in changes if (row := row_of(*pair)) is not None]
        held = values_before(before, (key for key, _ in rows))
        for key, (own, payload) in rows:
            olds, news = _sessions(row_of(key, held[key])), _sessions((own, payload))
            plain = self._plain(own)
            for start, end in sorted({*olds, *news}):
                old, new = olds.get((start, end)), news.get((start, end))
                if old != new:
                    time = time_ms if new is None else end
                    yield ChangelogRecord(plain + _BOUNDS.pack(end, start), new, time)

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        store = self._spec.open(overlay)

        def restore(record: ChangelogRecord) -> None:
            plain, (end, start) = key_and_numbers(_BOUNDS, record.key)
            key, value = self._decoded(record._replace(key=plain))
            store.put(Windowed(key, start, end), value)

        return restore


def _sessions(row: Pair | None) -> dict[tuple[int, int], bytes]:
    """Return the encoded values by start and end, given a row in the format of `SpansSerde`."""
    if row is None or row[1] is None:
        return {}
    return {_BOUNDS.unpack_from(piece): piece[16:] for piece in divided(row[1])}
