"""The variance of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.variance import VarianceForm
from kstreams.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.numbers import DOUBLE, INT64

__all__ = ("variance",)

_Moments = tuple[int, float, float]
_STATE = TupleSerde["tuple[int, float, float]"](INT64, DOUBLE, DOUBLE)


def variance(*, sample: bool = False) -> Aggregator[object, float, _Moments, float]:
    """Return the variance of values, in one pass that loses no digits to large means.

    Args:
        sample: Divide by one less than the count, as for a sample of a population; the
            result for a single value is then NaN.

    Source: Welford's method; merging as by Chan, Golub and LeVeque (1979).
    """
    return _Variance(1 if sample else 0)


@dataclass(frozen=True)
class _Variance:
    """State: count, mean, and sum of squared distances from the mean."""

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
