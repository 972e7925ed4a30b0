"""The first stage of a foreign-key join by columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.joins.columns.both_values import there
from kstreams.joins.columns.changes import Changes, ChangesProcessor
from kstreams.joins.columns.ends import ends_of
from kstreams.joins.encoded_output import encoded_context
from kstreams.joins.foreign.foreign_keys import ForeignKeys
from kstreams.joins.foreign.foreign_sending import ForeignSending, Steps, Subscribing
from kstreams.processors.context import BatchContext
from kstreams.serde.objects import object_column, objects_of

__all__ = ("ForeignSubscribeColumns",)


class ForeignSubscribeColumns(ChangesProcessor):
    """The columnar form of `ForeignSubscribe`; sends at the end of a batch.

    Args:
        terms: The settings of the stage.
    """

    def __init__(self, terms: Subscribing) -> None:
        self._terms = terms

    def init(self, context: BatchContext) -> None:
        """Register the release of buffered changes at the end of a batch."""
        super().init(context)
        self._sending = ForeignSending(self._terms, encoded_context(context))
        self._hold: Callable[[Changes], None] = context.hold(self._release)

    def process_batch(self, table: pa.Table) -> None:
        """Buffer changes, except those with neither an old nor a new value."""
        changes = Changes.of(table)
        pairs = zip(changes.news, changes.olds, strict=True)
        self._hold(changes.kept([new is not None or old is not None for new, old in pairs]))

    def _release(self, items: Sequence[Changes]) -> None:
        terms = self._terms
        ends = ends_of(items, terms.key, self._objects)
        count = len(ends.times)
        if not count:
            return
        keys = objects_of(ends.keys)
        named = [*self._named(keys, ends.olds), *self._named(keys, ends.news)]
        numbers, names = ForeignKeys(terms.foreign, terms.stored).named(named)
        steps = Steps(
            terms.key.from_arrow(ends.keys),
            numbers[:count],
            there(object_column(ends.olds)),
            numbers[count:],
            self._data(named[count:], ends.news),
            ends.times,
        )
        self._sending.send(steps, names)

    def _named(self, keys: Sequence[Any], values: Sequence[Any]) -> Iterator[Any]:
        """Yield the foreign keys of rows; None for no row or no foreign key."""
        by = self._terms.by
        pairs = zip(keys, values, strict=True)
        return (None if value is None else by(key, value) for key, value in pairs)

    def _data(self, now: Sequence[Any], news: Sequence[Any]) -> pa.Array:
        """Return the bytes to send for each left row.

        For a row with a foreign key they are its encoded value. In a left join, they are the
        encoded result for a row without a foreign key. Null for a deleted row.

        Args:
            now: The new foreign keys; None for no foreign key.
            news: The new left values; None for a deleted row.
        """
        terms = self._terms
        pairs = list(zip(now, news, strict=True))
        data = terms.value.serialize_many([None if key is None else new for key, new in pairs])
        if terms.alone is None or None not in now:
            return data
        function = terms.joiner.function
        results = [
            function(new, None) if key is None and new is not None else None for key, new in pairs
        ]
        return pc.coalesce(data, terms.result.serialize_many(results))
