"""The records of a table that join sessions one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.processors.columnar import STREAM_TIME, ColumnSource
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.layout import fixed_layout
from kstreams.serde.objects import objects_of
from kstreams.state.session_store import SessionStore
from kstreams.windows.results import Results
from kstreams.windows.session_aggregate import joining
from kstreams.windows.supplier import Plan

__all__ = ("SessionRecords",)

Ints = npt.NDArray[np.int64]


class SessionRecords:
    """Runs the record path on some rows of a table, and makes columns of what it forwards."""

    def __init__(
        self,
        plan: Plan,
        store: SessionStore[Any, Any],
        source: ColumnSource,
        form: ColumnForm,
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
        encoded = Plan(plan.windows, _Encoded(plan.aggregator), plan.store, plan.emit)
        forward = None if plan.finals else self._forward
        self._join = joining(encoded, store, forward, self._refuse)

    def join(self, table: pa.Table, rows: Ints) -> tuple[Ints, tuple[Ints, Results]]:
        """Let records join sessions, in order.

        Args:
            table: The records.
            rows: Their places in the batch.

        Returns:
            The places of those that came too late; and twice the place of each result's
            record, plus one unless it is a deletion, with the results.
        """
        self._events, self._late = [], []
        encoded = table.column("key").combine_chunks()
        keys = self._source.key.deserialize_many(encoded)
        times = objects_of(table.column("timestamp"))
        stream = objects_of(table.column(STREAM_TIME))
        columns = (rows.tolist(), keys, self._values(table), times, stream)
        for self._row, key, value, time, now in zip(*columns, strict=True):
            self._join(Record(key, value, time), now)
        return np.array(self._late, np.int64), self._results()

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

    def _results(self) -> tuple[Ints, Results]:
        records = [record for _, record in self._events]
        data = [record.value for record in records]
        state = self._layout.decode([item for item in data if item is not None])
        count = iter(range(len(data)))
        places = pa.array([None if item is None else next(count) for item in data], pa.int64())
        serde = self._source.key
        results = Results(
            serde.to_arrow(serde.serialize_many([record.key.key for record in records])),
            np.array([record.key.start_ms for record in records], np.int64),
            np.array([record.key.end_ms for record in records], np.int64),
            self._form.result(state).take(places),
            np.array([record.timestamp for record in records], np.int64),
        )
        rows = np.array([row for row, _ in self._events], np.int64)
        good = np.array([item is not None for item in data], np.int64)
        return 2 * rows + good, results


@dataclass(frozen=True)
class _Encoded:
    """An aggregator whose results are its states' bytes."""

    aggregator: Aggregator[Any, Any, Any, Any]

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
