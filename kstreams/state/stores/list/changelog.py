"""The changelog of list stores: one record per element."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from kstreams.serde.composite import read_int64
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
from kstreams.state.stores.list.rows import ELEMENT, SHORT, ListRows
from kstreams.state.stores.prefix_free import read_prefix_free

__all__ = ("ListForm",)

_NUMBER = struct.Struct(">q")

_Elements = dict[int, bytes]
"""Encoded elements, by number."""


class ListForm(PlainForm):
    """The changelog format of a list store: one record for each element.

    A record's key has the list's key bytes and the element's number; its value is the element, and
    its timestamp the time of the batch.

    Elements are numbered in the order of addition, from 0 after a list was empty. For each key,
    deletions precede additions.

    Source: differs from Kafka Streams' `ListValueStore`, whose record has the whole list.
    """

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        """Yield a record for each added, changed or deleted element."""
        held = values_before(before, (row for row, _ in changes))
        olds = _lists((row, held[row]) for row, _ in changes)
        news = _lists(changes)
        for key, new in sorted(news.items()):
            plain, old = self._plain(key), olds[key]
            for number in sorted(old.keys() - new.keys()):
                yield ChangelogRecord(plain + _NUMBER.pack(number), None, time_ms)
            for number, value in sorted(new.items()):
                if old.get(number) != value:
                    yield ChangelogRecord(plain + _NUMBER.pack(number), value, time_ms)

    def restoring(self, overlay: Overlay) -> Callable[[ChangelogRecord], None]:
        """Return a function that sets or deletes the element of a record."""
        rebuild = ListRows.of(self._spec.open(overlay)).rebuild

        def restore(record: ChangelogRecord) -> None:
            plain, (number,) = key_and_numbers(_NUMBER, record.key)
            key, value = self._decoded(record._replace(key=plain))
            rebuild(key, number, value)

        return restore


def _lists(rows: Iterator[Pair] | Sequence[Pair]) -> dict[bytes, _Elements]:
    """Return, for each list's ordered key, the elements in encoded rows, by element number."""
    found: defaultdict[bytes, _Elements] = defaultdict(dict)
    for row, value in rows:
        key, end = read_prefix_free(row, 1)
        elements = found[key]
        if value is None:
            continue
        if row[:1] == ELEMENT:
            elements[read_int64(row, end)] = value[1:]
        elif value[:1] == SHORT:
            elements.update(enumerate(divided(value[9:]), read_int64(value, 1)))
    return found
