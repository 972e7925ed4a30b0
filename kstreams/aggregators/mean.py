"""The mean of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.mean import MeanForm
from kstreams.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.numbers import DOUBLE, INT64

__all__ = ("mean",)

_STATE = TupleSerde["tuple[int, float]"](INT64, DOUBLE)


def mean() -> Aggregator[object, float, tuple[int, float], float]:
    """Return the arithmetic mean of values; its state is how many, and their sum.

    Doubles are added in the order of the records.
    """
    return _Mean()


@dataclass(frozen=True)
class _Mean:
    exact: ClassVar[bool] = False

    @property
    def state(self) -> Serde[tuple[int, float]]:
        return _STATE

    def init(self, record: Record[Any, float]) -> tuple[int, float]:
        return 1, record.value + 0.0

    def add(self, state: tuple[int, float], record: Record[Any, float]) -> tuple[int, float]:
        return state[0] + 1, state[1] + record.value

    def merge(self, earlier: tuple[int, float], later: tuple[int, float]) -> tuple[int, float]:
        return earlier[0] + later[0], earlier[1] + later[1]

    def result(self, state: tuple[int, float]) -> float:
        return state[1] / state[0]

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        return MeanForm() if is_number(value) else None
