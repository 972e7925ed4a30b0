"""Cases of windows side by side: every task has the nodes of all cases, and emits only its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from kstreams import Processor, ProcessorContext, Record
from kstreams import TopologyBuilder as Builder
from kstreams.partitioner import partition_by
from kstreams.windows import Windowed, split_late
from tests.support.conformance.case import Input, Output
from tests.support.conformance.lane import Lane, Run, Sent, number_of
from tests.support.conformance.numbered_values import NumberedValues
from tests.support.conformance.window_topologies import (
    aggregation,
    drops_nulls,
    source_topic,
    suppressed,
)

__all__ = ("WindowLane",)


class WindowLane(Lane):
    """Cases of one execution whose sources all drop null values, or all forward them.

    By columns, also cases whose results are all suppressed, or all not.

    Args:
        name: See `Lane`.
        runs: See `Lane`.
        keys_tell: Whether the number of a case precedes its keys, as in `JoinLane`, because the
            writer of the topic cannot choose a partition.
    """

    def __init__(self, name: str, runs: Sequence[Run], *, keys_tell: bool = False) -> None:
        super().__init__(name, runs)
        self._keys_tell = keys_tell
        self._letters = [
            NumberedValues(run.case, run.execution, drops_nulls=drops_nulls(run.case))
            for run in runs
        ]

    @staticmethod
    def name_of(run: Run) -> str:
        """Return the name of the lane of a case."""
        nulls = "dropping" if drops_nulls(run.case) else "passing"
        # A punctuator, as used by suppression, keeps the task's final results from running by
        # columns.
        apart = run.execution == "columns" and run.case.emit == "suppress"
        return f"{run.execution}-{nulls}{'-suppressed' * apart}"

    def add_to(self, builder: Builder) -> None:
        """Add a source, and the windows of each case."""
        first = self.runs[0]
        name = self.input("in")
        rule = partition_by(number_of) if self._keys_tell else None
        topic = source_topic(name, drops_nulls(first.case), first.execution, rule)
        records: Any = builder.add_source(name, topic)
        for number, run in enumerate(self.runs):
            label = f"{self.name}-{number}"
            supplier = aggregation(run.case, run.execution, f"state-{label}")
            results, late = split_late(builder, label, supplier, records)
            results = suppressed(builder, run.case, run.execution, results, f"-{label}")
            for kind, node in (("results", results), ("late", late)):
                self.add_output(builder, f"{kind}-{label}", partial(_Own, number), node)

    def sent(self, number: int, place: int) -> Sent:
        """Return an input with its value encoded for the execution."""
        row = self.runs[number].case.inputs[place]
        before = f"{number}:" if self._keys_tell else ""
        key = None if row.key is None else f"{before}{row.key}".encode()
        return Sent(key, self._letters[number].encoded(place), row.timestamp)

    def result(self, number: int, fields: Sequence[Any], timestamp: int) -> Output | None:
        """Return key and window with the letters of the value; None for a late record."""
        *window, value = fields
        if not window:
            return None
        if self._keys_tell:
            window[0] = window[0].partition(":")[2]
        text = self._letters[number].text(window[0], value)
        return str(Windowed(*window)), text, timestamp

    def dropped_before(self, row: Input) -> bool:
        """Return whether the source drops a record."""
        nulls = drops_nulls(self.runs[0].case)
        return row.key is None or (row.value is None and nulls)


class _Own(Processor[Any, Any, None, str]):
    """Forwards the results of the task's own case as JSON text; a late record becomes a null."""

    def __init__(self, number: int) -> None:
        self._number = number

    def init(self, context: ProcessorContext[None, str]) -> None:
        self.context = context
        self._is_own = context.task.partition == self._number

    def process(self, record: Record[Any, Any]) -> None:
        key, value = record.key, record.value
        if self._is_own:
            late = not isinstance(key, Windowed)
            found = [None] if late else [key.key, key.start_ms, key.end_ms, value]
            text = json.dumps([self._number, *found])
            self.context.forward(Record(None, text, record.timestamp))
