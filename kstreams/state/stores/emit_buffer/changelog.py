"""The changelog of emit buffers: one record per buffered result."""

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
)
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows

__all__ = ("EmitBufferForm",)

_HANDLE = struct.Struct(">qqq")


class EmitBufferForm(PlainForm):
    """The changelog format of an emit buffer: one record for each buffered result.

    A record's key has the key bytes, due time, window start and window end; the value is the
    encoded `BufferedState`.
    """

    @override
    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        for handle, value in changes:
            times = (read_int64(handle, place) for place in (0, 8, 16))
            yield ChangelogRecord(self._plain(handle[24:]) + _HANDLE.pack(*times), value, time_ms)

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        rebuild = EmitBufferRows.of(self._spec.open(overlay)).rebuild
        key = self._key.deserialize

        def restore(record: ChangelogRecord) -> None:
            plain, (due_ms, start_ms, end_ms) = key_and_numbers(_HANDLE, record.key)
            rebuild((due_ms, start_ms, end_ms, key(plain)), record.value)

        return restore
