"""Results that are refused when a batch's output is written, after its task has run."""

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
    """Deals with refused results of one sink by its policy.

    Args:
        sink: The sink.
        output: What the task gave out: `settle` adds letters and counts to it.
        limits: What topics take.
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
        """Deal with one; raise the error if the policy is to fail.

        Args:
            target: The topic, or what else the result was for.
            record: The result, in bytes.
            error: Why.
            commit: What names the result, where there is no topic.
        """
        self._policies.refused(
            self._sink, target, record, error.at(node=self._sink.name), commit=commit
        )

    def settle(self) -> None:
        """Add what was taken to the output: dead letters, and what was not written after all."""
        output = self._output
        for topic, letters in self._policies.drain().items():
            others = [output.dead_letters[topic]] if topic in output.dead_letters else []
            output.dead_letters[topic] = pa.concat_tables([*others, letters])
        dropped = self._cursor.dropped_by(self._sink.name)
        if dropped:
            refused = NodeCounts(records_out=-sum(dropped.values()), dropped=dropped)
            known = output.counts.get(self._sink.name, NodeCounts())
            output.counts[self._sink.name] = known + refused
