"""What `first` and `last` share: one value is kept, with its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from kstreams._types import V
from kstreams.aggregators.columns.edge import EdgeForm
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.columns.values import is_number
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.stamped import StampedSerde

__all__ = ("Edge",)


@dataclass(frozen=True)
class Edge(Generic[V]):
    """All of such an aggregator but which of two values stays.

    Attributes:
        latest: Whether it is the one with the latest time, for the column form.
        state: Serde of the value and its time.
    """

    latest: ClassVar[bool]
    state: StampedSerde[V]

    def init(self, record: Record[Any, V]) -> tuple[V, int]:
        """Keep the only one."""
        return record.value, record.timestamp

    def result(self, state: tuple[V, int]) -> V:
        """Return the value."""
        return state[0]

    def columns(self, value: Serde[Any]) -> ColumnForm | None:
        """Return the column form, if the values are numbers."""
        own = self.state.parts[0]
        floats = not is_number(own, whole=True)
        if not (is_number(own) and is_number(value, whole=not floats)):
            return None
        return EdgeForm(latest=self.latest, floats=floats)
