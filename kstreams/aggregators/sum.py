"""Sum up numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from kstreams.aggregators.aggregator import InvertibleAggregator
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.sum import SumForm
from kstreams.aggregators.exact_sum import EXACT_SUM, NOTHING, ExactSum
from kstreams.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.numbers import DOUBLE

__all__ = ("sum_",)

N = TypeVar("N", int, float)
"""Type of the numbers."""


def sum_(number: Serde[N]) -> InvertibleAggregator[object, N, N, N]:
    """Sum up values: integers exactly, doubles in the order of the records.

    In `regroup`, which removes records, sums of doubles are exact and rounded once.

    Args:
        number: The serde of values and sums: `INT64`, `INT32` or `DOUBLE`. A sum outside of its
            range raises a `SerializationError` in the store.
    """
    return _DoubleSum(number) if number == DOUBLE else _Sum(number)


@dataclass(frozen=True)
class _Sum(Generic[N]):
    identity: ClassVar[str] = "sum"
    name: ClassVar[str] = "sum"

    state: Serde[N]

    def init(self, record: Record[Any, N]) -> N:
        return record.value

    def add(self, state: N, record: Record[Any, N]) -> N:
        return state + record.value

    def remove(self, state: N, record: Record[Any, N]) -> N:
        return state - record.value

    def merge(self, earlier: N, later: N) -> N:
        return earlier + later

    def result(self, state: N) -> N:
        return state

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        floats = not is_number(self.state, whole=True)
        if not (is_number(self.state) and is_number(value, whole=not floats)):
            return None
        return SumForm(floats=floats)


class _DoubleSum(_Sum[N]):
    exact: ClassVar[bool] = False

    def init(self, record: Record[Any, Any]) -> N:
        first: N = record.value + 0.0  # a double of an integer too; no sum is -0.0
        return first

    @property
    def unrounded(self) -> InvertibleAggregator[Any, float, ExactSum, float]:
        return _UnroundedSum()


@dataclass(frozen=True)
class _UnroundedSum:
    identity: ClassVar[str] = "sum"

    @property
    def state(self) -> Serde[ExactSum]:
        return EXACT_SUM

    def init(self, record: Record[Any, float]) -> ExactSum:
        return NOTHING.plus(record.value)

    def add(self, state: ExactSum, record: Record[Any, float]) -> ExactSum:
        return state.plus(record.value)

    def remove(self, state: ExactSum, record: Record[Any, float]) -> ExactSum:
        return state.plus(record.value, -1)

    def merge(self, earlier: ExactSum, later: ExactSum) -> ExactSum:
        return earlier.merged(later)

    def result(self, state: ExactSum) -> float:
        return state.rounded()
