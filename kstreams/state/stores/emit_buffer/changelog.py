"""The changelog of stores whose rows are the library's own: a record a row, as it is."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from kstreams.serde.composite import read_int64
from kstreams.state.stores.changelog.form import Before, Entry, Pair
from kstreams.state.stores.changelog.key_values import KeyValueForm
from kstreams.state.stores.changelog.windows import key_and_numbers
from kstreams.state.stores.timed_rows import ROW

__all__ = ("PendingForm", "RowForm")

_HANDLE = struct.Struct(">qqq")


class RowForm(KeyValueForm):
    """Key, and the bytes of its row: for sliding windows, `suppress` and `at_most_every`."""

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield a record a row; those of the index are left out."""
        for key, value in changes:
            if key[:1] == ROW:
                content = None if value is None else value[1:]
                yield Entry(self._plain(key[1:]), content, time_ms)

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # a live store
        """Set or delete the row."""
        store.rebuild(self._key.deserialize(entry.key), entry.value)


class PendingForm(KeyValueForm):
    """Key bytes, due time, start and end of a window, and the bytes of what waits for `every`."""

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield a record a result that waits."""
        for handle, value in changes:
            times = (read_int64(handle, place) for place in (0, 8, 16))
            yield Entry(self._plain(handle[24:]) + _HANDLE.pack(*times), value, time_ms)

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # a live store
        """Set or delete what waits."""
        plain, times = key_and_numbers(_HANDLE, entry.key)
        store.rebuild((*times, self._key.deserialize(plain)), entry.value)
