"""The records of a table that are aggregated one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.aggregators.aggregator import Aggregator, is_exact
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.processors.columnar import ColumnSource
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.layout import fixed_layout
from kstreams.serde.objects import objects_of
from kstreams.windows.columns.results import Results
from kstreams.windows.late import LateCall
from kstreams.windows.plan import AggregationPlan

__all__ = ("RecordFallback",)


Forward = Callable[[Record[Any, Any]], None]
"""Takes a record."""


class RecordFallback:
    """Runs the record path on some rows of a table, and makes columns of what it forwards.

    Args:
        plan: The aggregation.
        source: What the records come from.
        form: Makes results of states.
        bind: Returns what aggregates a record at a stream time (ms), of a plan, what takes
            results, and what takes records that came too late.
    """

    def __init__(
        self,
        plan: AggregationPlan,
        source: ColumnSource,
        form: ColumnForm,
        bind: Callable[
            [AggregationPlan, Forward, LateCall], Callable[[Record[Any, Any], int], object]
        ],
    ) -> None:
        self._source = source
        self._form = form
        layout = fixed_layout(plan.aggregator.state)
        if layout is None:
            raise TypeError(f"values of {plan.aggregator.state.name} vary in width")
        self._layout = layout
        self._events: list[tuple[int, Record[Any, Any]]] = []
        self._late: list[int] = []
        self._row = 0
        encoded = replace(plan, aggregator=_Encoded(plan.aggregator))
        self._call = bind(encoded, self._forward, self._refuse)

    def aggregate(
        self, table: pa.Table, rows: Ints, lateness_times: Ints
    ) -> tuple[Ints, Ints, Results]:
        """Aggregate records, in order.

        Args:
            table: The records.
            rows: Their places in the batch.
            lateness_times: The stream times that their lateness is judged by, ms.

        Returns:
            The places of those that came too late; then results, null if deleted, behind
            the place of the record that each comes of.
        """
        self._events, self._late = [], []
        encoded = table.column("key").combine_chunks()
        keys = self._source.key.deserialize_many(encoded)
        times = objects_of(table.column("timestamp"))
        columns = (rows.tolist(), keys, self._values(table), times, lateness_times.tolist())
        for self._row, key, value, time, now in zip(*columns, strict=True):
            self._call(Record(key, value, time), now)
        places = np.array([row for row, _ in self._events], np.int64)
        return np.array(self._late, np.int64), places, self._results()

    def _values(self, table: pa.Table) -> list[Any]:
        column = table.column("value").combine_chunks()
        serde = self._source.value
        if serde.arrow_type != pa.binary() or column.type == pa.null():
            return objects_of(column)
        return serde.deserialize_many(column)

    def _forward(self, record: Record[Any, Any]) -> None:
        self._events.append((self._row, record))

    def _refuse(self, record: Record[Any, Any], start: int, end: int) -> None:
        self._late.append(self._row)

    def _results(self) -> Results:
        records = [record for _, record in self._events]
        data = [record.value for record in records]
        state = self._layout.decode([item for item in data if item is not None])
        count = iter(range(len(data)))
        places = pa.array([None if item is None else next(count) for item in data], pa.int64())
        serde = self._source.key
        return Results(
            serde.to_arrow(serde.serialize_many([record.key.key for record in records])),
            np.array([record.key.start_ms for record in records], np.int64),
            np.array([record.key.end_ms for record in records], np.int64),
            self._form.result(state).take(places),
            np.array([record.timestamp for record in records], np.int64),
        )


@dataclass(frozen=True)
class _Encoded:
    """An aggregator whose results are its states' bytes."""

    aggregator: Aggregator[Any, Any, Any, Any]

    @property
    def exact(self) -> bool:
        return is_exact(self.aggregator)

    @property
    def state(self) -> Serde[Any]:
        return self.aggregator.state

    def init(self, record: Record[Any, Any]) -> Any:  # noqa: ANN401  # erased
        return self.aggregator.init(record)

    def add(self, state: Any, record: Record[Any, Any]) -> Any:  # noqa: ANN401  # erased
        return self.aggregator.add(state, record)

    def merge(self, earlier: Any, later: Any) -> Any:  # noqa: ANN401  # erased
        return self.aggregator.merge(earlier, later)

    def result(self, state: Any) -> bytes:  # noqa: ANN401  # erased
        return self.state.serialize(state)
