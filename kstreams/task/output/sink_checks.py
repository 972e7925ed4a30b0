"""Checks of results that their topic may reject."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import RecordRefusedError
from kstreams.graph.nodes import SinkNode
from kstreams.record import Record
from kstreams.task.progress.cursor import Cursor
from kstreams.task.records.columns import rows_of
from kstreams.topic import TopicChoice
from kstreams.topic_limits import Limits, TopicLimits, limits_or_none

__all__ = ("Outlet", "Refused")

Refused = Callable[
    [SinkNode, str, Record["bytes | None", "bytes | None"], RecordRefusedError], None
]
"""Applies the policy to a rejected result: sink, topic, record and error. Raises to fail."""


class Outlet:
    """The path from a sink's collector to its topics.

    With `on_refused="fail"`, a rejected result is a failure of its record if the record can still
    be rolled back (`check`). Otherwise, and with other policies, results are checked together at
    the end of the batch (`passed`).

    Args:
        node: The sink.
        limits: Returns the limits of a topic, such as the maximum size of a record.
        cursor: Has the wall time.
        refused: Applies the policy to rejected results.
    """

    def __init__(self, node: SinkNode, limits: Limits, cursor: Cursor, refused: Refused) -> None:
        self._node = node
        self._chosen = isinstance(node.target, TopicChoice)
        self._limits = limits
        self._known: dict[str, TopicLimits] = {}
        self._cursor = cursor
        self._deal_with = refused

    def check(self, topic: str, record: Record[bytes | None, bytes | None]) -> None:
        """Check a record that can still be rolled back, if rejected results are to fail.

        Raises:
            RecordRefusedError: The topic rejects the record.
            UnknownTopicError: The sink chose a topic that does not exist.
        """
        if self._node.on_refused == "fail":
            self._of(topic).check(record, self._cursor.wall_time)

    def passed(self, table: pa.Table) -> pa.Table:
        """Return the rows that their topics accept; apply the policy to the other rows.

        Raises:
            RecordRefusedError: A topic rejects a row, and the policy is to fail.
        """
        refused = self._refused(table)
        if refused is None:
            return table
        rows = table.filter(pa.array(refused))
        for topic, record in zip(rows.column("topic").to_pylist(), rows_of(rows), strict=True):
            try:
                self._of(topic).check(record, self._cursor.wall_time)
            except RecordRefusedError as exc:
                known = {"target": topic, "timestamp": record.timestamp, "key": record.key}
                error = exc.at(node=self._node.name, **known)
                error.hint = f"{error.hint} {RecordRefusedError.WAY_ON}"
                self._deal_with(self._node, topic, record, error)
        return table.filter(pa.array(~refused))

    def _refused(self, table: pa.Table) -> npt.NDArray[np.bool_] | None:
        found: npt.NDArray[np.bool_] | None = None
        names = table.column("topic")
        for limits, topics in self._by_limits(names.unique().to_pylist()):
            part = limits.refused(table, self._cursor.wall_time)
            if part is None:
                continue
            part &= pc.is_in(names, pa.array(topics)).to_numpy()
            found = part if found is None else found | part
        return found if found is not None and found.any() else None

    def _by_limits(self, topics: list[str]) -> Iterator[tuple[TopicLimits, list[str]]]:
        found: dict[TopicLimits, list[str]] = {}
        for topic in topics:
            found.setdefault(self._of(topic), []).append(topic)
        yield from found.items()

    def _of(self, topic: str) -> TopicLimits:
        known = self._known.get(topic)
        if known is None:
            known = self._known[topic] = self._asked(topic)
        return known

    def _asked(self, topic: str) -> TopicLimits:
        """Return the limits of a topic.

        A missing topic is an error only if the sink chooses the topic for each record.
        """
        return self._limits(topic) if self._chosen else limits_or_none(self._limits, topic)
