"""The variance of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.aggregators.aggregator import InvertibleAggregator
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.variance import VarianceForm
from kstreams.aggregators.exact_sum import EXACT_SUM, NOTHING, ExactSum, nearest
from kstreams.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.numbers import DOUBLE, INT64

__all__ = ("variance",)

_Moments = tuple[int, float, float]
_STATE = TupleSerde["tuple[int, float, float]"](INT64, DOUBLE, DOUBLE)
_Exact = tuple[int, ExactSum, ExactSum]
_EXACT = TupleSerde[_Exact](INT64, EXACT_SUM, EXACT_SUM)


def variance(*, sample: bool = False) -> InvertibleAggregator[object, float, _Moments, float]:
    """Compute the variance of values in one pass, without loss of precision for large means.

    In `regroup`, which removes records, the variance is exact and rounded once.

    Args:
        sample: Whether to divide by the count minus one, as for a sample of a population; the
            result for a single value is then NaN.

    Source: Welford's method; merging as by Chan, Golub and LeVeque (1979).
    """
    return _Variance(1 if sample else 0)


@dataclass(frozen=True)
class _Variance:
    """Aggregates count, mean, and sum of squared deviations from the mean."""

    identity: ClassVar[str] = "variance"
    name: ClassVar[str] = "variance"
    exact: ClassVar[bool] = False
    missing: int

    @property
    def state(self) -> Serde[_Moments]:
        return _STATE

    def init(self, record: Record[Any, float]) -> _Moments:
        return 1, record.value + 0.0, 0.0

    def add(self, state: _Moments, record: Record[Any, float]) -> _Moments:
        count, mean, squares = state
        away = record.value - mean
        more = count + 1
        return more, mean + away / more, squares + away * away * count / more

    def remove(self, state: _Moments, record: Record[Any, float]) -> _Moments:
        count, mean, squares = state
        if count == 1:
            return 0, 0.0, 0.0
        before = mean - (record.value - mean) / (count - 1)
        return count - 1, before, squares - (record.value - mean) * (record.value - before)

    def merge(self, earlier: _Moments, later: _Moments) -> _Moments:
        count = earlier[0] + later[0]
        away = later[1] - earlier[1]
        mean = earlier[1] + away * later[0] / count
        apart = away * away * earlier[0] * later[0] / count
        return count, mean, earlier[2] + later[2] + apart

    def result(self, state: _Moments) -> float:
        divisor = state[0] - self.missing
        return state[2] / divisor if divisor else float("nan")

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        return VarianceForm(self.missing) if is_number(value) else None

    @property
    def unrounded(self) -> InvertibleAggregator[Any, float, _Exact, _Moments]:
        return _UnroundedVariance()


@dataclass(frozen=True)
class _UnroundedVariance:
    """Aggregates count, sum, and sum of squares, all exactly."""

    @property
    def state(self) -> Serde[_Exact]:
        return _EXACT

    def init(self, record: Record[Any, float]) -> _Exact:
        return self.add((0, NOTHING, NOTHING), record)

    def add(self, state: _Exact, record: Record[Any, float]) -> _Exact:
        value = record.value
        return state[0] + 1, state[1].plus(value), state[2].plus_square(value)

    def remove(self, state: _Exact, record: Record[Any, float]) -> _Exact:
        value = record.value
        return state[0] - 1, state[1].plus(value, -1), state[2].plus_square(value, -1)

    def merge(self, earlier: _Exact, later: _Exact) -> _Exact:
        return (
            earlier[0] + later[0],
            earlier[1].merged(later[1]),
            earlier[2].merged(later[2]),
        )

    def result(self, state: _Exact) -> _Moments:
        count, total, squares = state
        if total.is_finite and count:
            mean = total.fraction() / count
            apart = squares.fraction() - total.fraction() * mean
            return count, nearest(mean), nearest(apart)
        return count, total.rounded(), float("nan") if count else 0.0
