"""The changelog of window and session stores, with Kafka Streams' windowed keys."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from kstreams.errors import DeserializationError
from kstreams.serde.composite import read_int64
from kstreams.serde.sequences import divided
from kstreams.state.stores.changelog.form import Before, Entry, Pair, values_before
from kstreams.state.stores.changelog.key_values import KeyValueForm, stamped_entry
from kstreams.state.stores.timed_rows import row_of

__all__ = ("SessionForm", "WindowForm", "key_and_numbers")

_ONE = struct.Struct(">q")
_TWO = struct.Struct(">qq")


class WindowForm(KeyValueForm):
    """Key bytes and start; the time is the window's own.

    Source: `org.apache.kafka.streams.kstream.TimeWindowedSerializer`.
    """

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield a record a window."""
        for key, value in changes:
            windowed = self._plain(key[8:]) + _ONE.pack(read_int64(key))
            yield stamped_entry(windowed, value, time_ms)

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # a live store
        """Set or delete the window."""
        plain, (start,) = key_and_numbers(_ONE, entry.key)
        key, value = self._decoded(entry._replace(key=plain))
        store.put(key, start, value, timestamp_ms=entry.timestamp)


class SessionForm(KeyValueForm):
    """Key bytes, end and start, a record a session; the time is the session's end.

    Source: `org.apache.kafka.streams.kstream.SessionWindowedSerializer`.
    """

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield a record for each session that came, changed or went."""
        rows = [(pair[0], row) for pair in changes if (row := row_of(*pair)) is not None]
        held = values_before(before, (key for key, _ in rows))
        for key, (own, payload) in rows:
            olds, news = _sessions(row_of(key, held[key])), _sessions((own, payload))
            plain = self._plain(own)
            for start, end in sorted({*olds, *news}):
                old, new = olds.get((start, end)), news.get((start, end))
                if old != new:
                    time = time_ms if new is None else end
                    yield Entry(plain + _TWO.pack(end, start), new, time)

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # a live store
        """Set or remove the session."""
        plain, (end, start) = key_and_numbers(_TWO, entry.key)
        key, value = self._decoded(entry._replace(key=plain))
        store.put(key, start, end, value)


def _sessions(row: Pair | None) -> dict[tuple[int, int], bytes]:
    """Return encoded values by start and end, of a row that `SpansSerde` wrote."""
    if row is None or row[1] is None:
        return {}
    return {_TWO.unpack_from(piece): piece[16:] for piece in divided(row[1])}


def key_and_numbers(form: struct.Struct, key: bytes) -> tuple[bytes, tuple[int, ...]]:
    """Return the key's bytes, and the numbers behind them.

    Raises:
        DeserializationError: It is too short.
    """
    place = len(key) - form.size
    if place < 0:
        raise DeserializationError(f"expected {form.size} bytes behind a windowed key, got {key!r}")
    return key[:place], form.unpack_from(key, place)
