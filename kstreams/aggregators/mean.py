"""The mean of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.aggregators.aggregator import InvertibleAggregator
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.mean import MeanForm
from kstreams.aggregators.exact_sum import EXACT_SUM, NOTHING, ExactSum
from kstreams.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.numbers import DOUBLE, INT64

__all__ = ("mean",)

_STATE = TupleSerde["tuple[int, float]"](INT64, DOUBLE)
_Exact = tuple[int, ExactSum]
_EXACT = TupleSerde[_Exact](INT64, EXACT_SUM)


def mean() -> InvertibleAggregator[object, float, tuple[int, float], float]:
    """Compute the arithmetic mean of values; the state is their number and their sum.

    Doubles are added in the order of the records. In `regroup`, which removes records, sums are
    exact and rounded once.
    """
    return _Mean()


@dataclass(frozen=True)
class _Mean:
    identity: ClassVar[str] = "mean"
    name: ClassVar[str] = "mean"
    exact: ClassVar[bool] = False

    @property
    def state(self) -> Serde[tuple[int, float]]:
        return _STATE

    def init(self, record: Record[Any, float]) -> tuple[int, float]:
        return 1, record.value + 0.0

    def add(self, state: tuple[int, float], record: Record[Any, float]) -> tuple[int, float]:
        return state[0] + 1, state[1] + record.value

    def remove(self, state: tuple[int, float], record: Record[Any, float]) -> tuple[int, float]:
        return state[0] - 1, state[1] - record.value

    def merge(self, earlier: tuple[int, float], later: tuple[int, float]) -> tuple[int, float]:
        return earlier[0] + later[0], earlier[1] + later[1]

    def result(self, state: tuple[int, float]) -> float:
        return state[1] / state[0]

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        return MeanForm() if is_number(value) else None

    @property
    def unrounded(self) -> InvertibleAggregator[Any, float, _Exact, tuple[int, float]]:
        return _UnroundedMean()


@dataclass(frozen=True)
class _UnroundedMean:
    identity: ClassVar[str] = "mean"

    @property
    def state(self) -> Serde[_Exact]:
        return _EXACT

    def init(self, record: Record[Any, float]) -> _Exact:
        return 1, NOTHING.plus(record.value)

    def add(self, state: _Exact, record: Record[Any, float]) -> _Exact:
        return state[0] + 1, state[1].plus(record.value)

    def remove(self, state: _Exact, record: Record[Any, float]) -> _Exact:
        return state[0] - 1, state[1].plus(record.value, -1)

    def merge(self, earlier: _Exact, later: _Exact) -> _Exact:
        return earlier[0] + later[0], earlier[1].merged(later[1])

    def result(self, state: _Exact) -> tuple[int, float]:
        return state[0], state[1].rounded()
