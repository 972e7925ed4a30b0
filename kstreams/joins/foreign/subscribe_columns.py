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
    """`ForeignSubscribe` by columns, at the end of a batch.

    Args:
        terms: The settings of the stage.
    """

    def __init__(self, terms: Subscribing) -> None:
        self._terms = terms

    def init(self, context: BatchContext) -> None:
        """Get ready to hold changes back."""
        super().init(context)
        self._sending = ForeignSending(self._terms, encoded_context(context))
        self._hold: Callable[[Changes], None] = context.hold(self._release)

    def process_batch(self, table: pa.Table) -> None:
        """Hold changes back, but those of no row to none."""
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
        """Return the foreign keys of rows."""
        by = self._terms.by
        pairs = zip(keys, values, strict=True)
        return (None if value is None else by(key, value) for key, value in pairs)

    def _data(self, now: Sequence[Any], news: Sequence[Any]) -> pa.Array:
        """Return the values of left rows with a foreign key, and the results of those without."""
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
