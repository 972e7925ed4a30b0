"""Count records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.aggregators.aggregator import InvertibleAggregator
from kstreams.aggregators.columns.count import CountForm
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.numbers import INT64

__all__ = ("count",)


def count() -> InvertibleAggregator[object, object, int, int]:
    """Count records, without reading or decoding their values.

    Source: `org.apache.kafka.streams.kstream.TimeWindowedKStream#count`.
    """
    return _Count()


@dataclass(frozen=True)
class _Count:
    identity: ClassVar[str] = "count"
    name: ClassVar[str] = "count"

    @property
    def state(self) -> Serde[int]:
        return INT64

    def init(self, record: Record[Any, Any]) -> int:  # counted, not read
        return 1

    def add(self, state: int, record: Record[Any, Any]) -> int:  # as above
        return state + 1

    def remove(self, state: int, record: Record[Any, Any]) -> int:  # as above
        return state - 1

    def merge(self, earlier: int, later: int) -> int:
        return earlier + later

    def result(self, state: int) -> int:
        return state

    def columns(self, value: Serde[Any]) -> ColumnForm:
        return CountForm()
