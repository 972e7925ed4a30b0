"""The first stage of a foreign-key join by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import pyarrow as pa

from kstreams.joins.columns.changes import Changes, ChangesProcessor, changes_of
from kstreams.joins.compaction import ends_of
from kstreams.joins.encoded_output import encoded_context
from kstreams.joins.foreign_sending import (
    Foreign,
    ForeignKeys,
    ForeignSending,
    Step,
    Subscribing,
)
from kstreams.processors.context import BatchContext
from kstreams.serde.objects import objects_of

__all__ = ("ForeignSubscribeColumns",)


class ForeignSubscribeColumns(ChangesProcessor):
    """What `ForeignSubscribe` does, at the end of a batch.

    Args:
        terms: What the stage goes by.
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
        columns = changes_of(table)
        real = [change.new is not None or change.old is not None for change in columns[1]]
        if not all(real):
            keys, changes, times = columns
            columns = (
                list(compress(keys, real)),
                list(compress(changes, real)),
                list(compress(times, real)),
            )
        self._hold(columns)

    def _release(self, items: Sequence[Changes]) -> None:
        ends = list(ends_of(items, self._terms.key))
        if not ends:
            return
        keys, olds, news, times = zip(*ends, strict=True)
        own = objects_of(self._terms.key.serialize_many(keys))
        foreign = ForeignKeys(self._terms)
        was, now = (self._named(foreign, keys, values) for values in (olds, news))
        existed = [old is not None for old in olds]
        data = self._data(now, news)
        self._sending.send(map(Step, own, was, existed, now, data, times))

    def _named(
        self, foreign: ForeignKeys, keys: Sequence[Any], values: Sequence[Any]
    ) -> list[Foreign | None]:
        """Return the foreign keys of rows."""
        by = self._terms.by
        return foreign.encoded_many(
            [
                None if value is None else by(key, value)
                for key, value in zip(keys, values, strict=True)
            ]
        )

    def _data(self, now: Sequence[Foreign | None], news: Sequence[Any]) -> list[bytes | None]:
        """Return the values of left rows that name a key, and the results of those that do not."""
        terms = self._terms
        named = [None if key is None else new for key, new in zip(now, news, strict=True)]
        data: list[bytes | None] = objects_of(terms.value.serialize_many(named))
        if terms.alone is None or None not in now:
            return data
        function = terms.joiner.function
        results = [
            function(new, None) if key is None and new is not None else None
            for key, new in zip(now, news, strict=True)
        ]
        made: list[bytes | None] = objects_of(terms.result.serialize_many(results))
        return [one if one is not None else other for one, other in zip(data, made, strict=True)]
