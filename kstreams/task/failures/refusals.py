"""Results that are rejected while a batch's output is written, after its task has run."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.errors import KStreamsError
from kstreams.graph.nodes import SinkNode
from kstreams.record import Record
from kstreams.state.log.totals import NodeCounts
from kstreams.task.failures.policies import Policies
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.progress.cursor import Cursor
from kstreams.task.progress.task_meta import NO_TIME
from kstreams.topic_limits import Limits

__all__ = ("Refusals",)


class Refusals:
    """Applies the policy of one sink to its rejected results.

    Args:
        sink: The sink.
        output: The output of the task; `settle` adds dead letters and counts to it.
        limits: Returns the limits of a topic, such as the maximum size of a record.
    """

    def __init__(self, sink: SinkNode, output: TaskOutput, limits: Limits) -> None:
        self._sink = sink
        self._output = output
        self._cursor = Cursor(NO_TIME, output.wall_ms)
        self._policies = Policies({}, [sink], (), self._cursor, limits)

    def take(
        self,
        target: str,
        record: Record[Any, Any],
        error: KStreamsError,
        *,
        commit: str = "",
    ) -> None:
        """Apply the policy to one result; raise the error if the policy is to fail.

        Args:
            target: The topic or other destination of the result.
            record: The result in bytes.
            error: The error.
            commit: The id of the result, if the sink does not write to a topic.
        """
        self._policies.refused(
            self._sink, target, record, error.at(node=self._sink.name), commit=commit
        )

    def settle(self) -> None:
        """Add the dead letters and the counts of rejected results to the output."""
        output = self._output
        for topic, letters in self._policies.drain().items():
            others = [output.dead_letters[topic]] if topic in output.dead_letters else []
            output.dead_letters[topic] = pa.concat_tables([*others, letters])
        dropped = self._cursor.dropped_by(self._sink.name)
        if dropped:
            refused = NodeCounts(records_out=-sum(dropped.values()), dropped=dropped)
            known = output.counts.get(self._sink.name, NodeCounts())
            output.counts[self._sink.name] = known + refused
