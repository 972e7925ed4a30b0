"""The changelog of join stores: one record for each changed key of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from typing_extensions import override

from kstreams.errors import DeserializationError
from kstreams.state.backend.working import Pair
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import Before, ChangelogRecord, PlainForm
from kstreams.state.stores.join.coding import OPEN, ROW
from kstreams.state.stores.join.rows import JoinRows

__all__ = ("JoinForm",)

_HEADS: Final = {OPEN: 26, ROW: 14}
"""The number of bytes that precede the key in a row, by the row's first byte."""


class JoinForm(PlainForm):
    """The changelog format of a join store: one record for each store key (`JoinKeySerde`).

    The record's value is the encoded value of the store. The record's key has the serialized join
    key, then the part of the store key before the join key, with its first byte moved to the end.
    Blocks and numbers have no join key: their record's key has only the other part.
    """

    @override
    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        for row, value in changes:
            head = _HEADS.get(row[:1], len(row))
            key = self._plain(row[head:]) if head < len(row) or row[:1] in _HEADS else b""
            yield ChangelogRecord(key + row[1:head] + row[:1], value, time_ms)

    @override
    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        rebuild = JoinRows.of(self._spec.open(overlay)).rebuild
        read, ordered = self._key.deserialize, self._key.ordered.serialize

        def restore(record: ChangelogRecord) -> None:
            tag, rest = record.key[-1:], record.key[:-1]
            head = _HEADS.get(tag)
            if head is None:
                rebuild(tag + rest, record.value)
                return
            place = len(rest) - head + 1
            if place < 0:
                raise DeserializationError(
                    f"a changelog key of a join store is truncated: expected {head} bytes "
                    f"or more, got {record.key!r}"
                )
            rebuild(tag + rest[place:] + ordered(read(rest[:place])), record.value)

        return restore
