"""The policies for failed records: fail the batch, skip the record, or write a dead letter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kstreams.errors import KStreamsError, LimitError, LoopError, RegistryUnavailableError
from kstreams.graph.nodes import Entry, LoopEndNode, SinkNode
from kstreams.processors.on_error import DeadLetter
from kstreams.quoting import kind_of
from kstreams.record import Record
from kstreams.task.failures.dead_letters import fitted, letter_of_record, letter_of_result
from kstreams.task.output.collector import Collector
from kstreams.task.progress.cursor import Cursor
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import Limits, limits_or_none

__all__ = (
    "RECORD_HINT",
    "Policies",
)


RECORD_HINT = (
    "correct the processor or the record and restart (nothing of this batch was kept), "
    "or let the source drop such records or write them to a dead-letter topic: on_error='skip' "
    "or DeadLetter(topic)."
)
"""The hint for a record that fails at a source with `on_error="fail"`."""


class Policies:
    """The error policies of sources, edges, loops and sinks, and the dead letters of the batch.

    Args:
        entries: The sources, repartition edges and loops of the task, by name.
        sinks: The sinks with their own policy.
        loop_ends: The ends of loops; the policy of the loop applies to them.
        cursor: Counts dropped records, and has the wall time.
        limits: Returns the limits of a topic, such as the maximum size of a record.
        folder: The folder for dead letters that exceed the memory limit.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        sinks: Iterable[SinkNode],
        loop_ends: Iterable[LoopEndNode],
        cursor: Cursor,
        limits: Limits,
        folder: Path | None = None,
    ) -> None:
        self._by_entry = {name: entry.on_error for name, entry in entries.items()}
        self._cursor = cursor
        self._limits = limits
        self._letters = {
            policy.topic: Collector.of_dead_letters(policy, folder=folder)
            for policy in (
                *self._by_entry.values(),
                *(sink.on_refused for sink in sinks),
                *(end.loop.on_error for end in loop_ends),
            )
            if isinstance(policy, DeadLetter)
        }

    @property
    def all_fail(self) -> bool:
        """Whether all sources, edges and loops have the policy `fail`: no record is skipped."""
        return all(policy == "fail" for policy in self._by_entry.values())

    def apply(self, queue: Queue, row: int, error: KStreamsError, node: str) -> None:
        """Apply the policy of the source to a failed record; `fail` raises the error."""
        policy = self._by_entry[queue.entry]
        if isinstance(error, (LimitError, RegistryUnavailableError)):
            raise error from error.__cause__
        if policy == "fail":
            error.hint = error.hint or RECORD_HINT
            raise error from error.__cause__
        kind = kind_of(error)
        at = queue.topic_partition, int(queue.table.column("offset")[row].as_py())
        if isinstance(policy, DeadLetter):
            self._cursor.drop(node, f"dead-letter-{kind}", at=at)
            self._take(policy, letter_of_record(queue, row, error, self._cursor.wall_time))
        else:
            self._cursor.drop(node, f"skipped-{kind}", at=at)

    def refused(
        self,
        sink: SinkNode,
        topic: str,
        record: Record[Any, Any],
        error: KStreamsError,
        *,
        commit: str = "",
    ) -> None:
        """Apply the policy of a sink to a rejected result; `fail` raises the error."""
        policy = sink.on_refused
        if policy == "fail":
            raise error from error.__cause__
        if isinstance(policy, DeadLetter):
            self._cursor.drop(sink.name, "refused-dead-letter")
            letter = letter_of_result(record, error, node=sink.name, topic=topic, commit=commit)
            self._take(policy, letter)
        else:
            self._cursor.drop(sink.name, "refused-skip")

    def exceeded(self, end: LoopEndNode, record: Record[Any, Any], error: LoopError) -> None:
        """Apply the policy to a record that exceeds the `max_hops` of a loop.

        The policy `fail` raises the error.
        """
        policy = end.loop.on_error
        if policy == "fail":
            raise error
        if isinstance(policy, DeadLetter):
            self._cursor.drop(end.name, "dead-letter-LoopError")
            letter = letter_of_result(record, error, node=end.name, topic=end.loop.name)
            self._take(policy, letter)
        else:
            self._cursor.drop(end.name, "skipped-LoopError")

    def _take(self, policy: DeadLetter, letter: Record[Any, Any]) -> None:
        self._letters[policy.topic].take(
            fitted(letter, limits_or_none(self._limits, policy.topic), self._cursor.wall_time)
        )

    def drain(self) -> dict[str, pa.Table]:
        """Return the dead letters by topic, and clear them."""
        tables = {topic: letters.drain() for topic, letters in self._letters.items()}
        return {topic: table for topic, table in tables.items() if table is not None}
