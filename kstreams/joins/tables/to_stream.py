"""Convert a table to a stream: forward each change, or the last change of each key and batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.change import Change
from kstreams.joins.columns.to_stream import StreamOfChanges
from kstreams.joins.tables.compaction import compacted
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import Input, Need, NodeForm
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.processors.emission import EachUpdate, OncePerBatch
from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = ("ToStream",)


@dataclass(frozen=True)
class ToStream:
    """Creates the processors of `to_stream`.

    Source: `KTable#toStream`, and `Suppressed` if results are forwarded once per batch.
    """

    key: Serde[Any]
    emit: EachUpdate | OncePerBatch

    def __call__(self) -> _ToStream:
        """Return a new processor."""
        return _ToStream(self.key, each=isinstance(self.emit, EachUpdate))

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, whose input is changes."""
        return NodeForm((Need.COLUMNS,), self._by_columns, follower=True)

    def _by_columns(self, rows: Input) -> ColumnProcessor:
        return StreamOfChanges(self.key, each=isinstance(self.emit, EachUpdate))


class _ToStream(ClosureProcessor[Any, "Change[Any]", Any, Any]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, key: Serde[Any], *, each: bool) -> None:
        self._key = key
        self._each = each

    def bind(
        self, context: ProcessorContext[Any, Any]
    ) -> Callable[[Record[Any, Change[Any]]], None]:
        forward = context.forward
        if self._each:
            return lambda record: forward(record.with_value(record.value.new))
        key = self._key

        def release(records: Sequence[Record[Any, Change[Any]]]) -> None:
            for record in compacted(records, key):
                forward(record.with_value(record.value.new))

        return context.hold(release)
