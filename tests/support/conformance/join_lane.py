"""Cases of joins side by side in one query: the number before a key gives case and partition."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from kstreams import Processor, ProcessorContext, Record
from kstreams import TopologyBuilder as Builder
from kstreams.partitioner import partition_by
from tests.support.conformance.case import Output
from tests.support.conformance.join_topologies import (
    JoinNames,
    add_join,
    is_table,
    side_topic,
    table_store,
)
from tests.support.conformance.lane import Lane, Run, Sent, number_of
from tests.support.models.join_models import foreign_key

__all__ = ("JoinLane",)

_BY_KEY = ("tt_join", "fk_join")
"""Joins that depend only on keys: one node serves all cases."""


class JoinLane(Lane):
    """Cases of one kind of join.

    Table-table and foreign-key joins have one node for all cases, and results are assigned by their
    keys. Other joins depend on the time of their task: every task has the nodes of all cases, and
    drops the results of all cases but its own.
    """

    sides = ("left", "right")

    @staticmethod
    def name_of(run: Run) -> str:
        """Return the name of the lane of a case."""
        case = run.case
        how = f"-{case.how}" if case.op in _BY_KEY else ""
        return f"{run.execution}-{case.op}{how}"

    def add_to(self, builder: Builder) -> None:
        """Add two sources or tables, and the joins."""
        first = self.runs[0].case
        names = JoinNames(f"-{self.name}", _foreign_key, self.runs[0].execution)
        sides: list[Any] = []
        for side in self.sides:
            name = self.input(side)
            topic = side_topic(name, partitioner=partition_by(number_of))
            if first.op in _BY_KEY:
                store = table_store(first, side, names)
                sides.append(builder.add_table(name, topic, store=store))
            else:
                sides.append(builder.add_source(name, topic))
        if first.op in _BY_KEY:
            results = add_join(builder, first, sides[0], sides[1], names)
            self.add_output(builder, self.name, partial(_Numbered, None), results)
            return
        for number in range(len(self.runs)):
            self._add_one(builder, number, sides[0], sides[1])

    def _add_one(self, builder: Builder, number: int, left: Any, right: Any) -> None:
        run = self.runs[number]
        case = run.case
        names = JoinNames(f"-{self.name}-{number}", execution=run.execution)
        if is_table(case, "right"):
            store = table_store(case, "right", names)
            right = builder.to_table(names("right"), right, store=store)
        results = add_join(builder, case, left, right, names)
        self.add_output(builder, names("case"), partial(_Numbered, number), results)

    def sent(self, number: int, place: int) -> Sent:
        """Return an input record, with the number of its case before its key."""
        row = self.runs[number].case.inputs[place]
        key = None if row.key is None else f"{number}:{row.key}".encode()
        return Sent(key, None if row.value is None else row.value.encode(), row.timestamp)

    def result(self, number: int, fields: Sequence[Any], timestamp: int) -> Output:
        """Return key and value."""
        key, value = fields
        return key, value, timestamp


def _foreign_key(key: str, value: str) -> str | None:
    found = foreign_key(value)
    return None if found is None else f"{key.partition(':')[0]}:{found}"


class _Numbered(Processor[Any, Any, None, str]):
    """Writes results with the number of their case. None means all cases, by their keys."""

    def __init__(self, number: int | None) -> None:
        self._number = number

    def init(self, context: ProcessorContext[None, str]) -> None:
        self.context = context
        self._is_own = self._number in (None, context.task.partition)

    def process(self, record: Record[Any, Any]) -> None:
        if not self._is_own:
            return
        number, key = self._number, None
        if record.key is not None:
            first, _, key = record.key.partition(":")
            number = int(first)
        text = json.dumps([number, key, record.value])
        self.context.forward(Record(None, text, record.timestamp))
