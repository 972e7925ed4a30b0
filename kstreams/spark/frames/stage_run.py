"""Runs a task on the messages of its group: processes its own messages, passes on all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.envelope import DRIVER, Envelope
from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.ids import TaskId
from kstreams.spark.frames.frame_task import FrameTask, StageRules, TaskRan
from kstreams.spark.frames.messages import Message
from kstreams.spark.frames.task_keys import task_of
from kstreams.spark.frames.task_record import TaskRecord
from kstreams.spark.worker import shorten_collections
from kstreams.task.records.queues import Queue

__all__ = ("Ran", "StageRun")


@dataclass(frozen=True)
class Ran:
    """The result of a task in a batch.

    Attributes:
        messages: The output and the forwarded messages.
        record: The new task record in Spark's state; None to leave the old one.
    """

    messages: tuple[Message, ...]
    record: TaskRecord | None = None


@dataclass(frozen=True)
class StageRun:
    """The tasks of a stage in one batch.

    Attributes:
        rules: The rules of the stage.
        settings: The settings of the stage.
    """

    rules: StageRules
    settings: StageSettings

    def run(
        self,
        key: int,
        messages: Iterable[Message],
        record: TaskRecord | None,
        timer_ms: int | None,
    ) -> Ran:
        """Run the task of a group key; see `Stage.run`."""
        given: list[Message] = []
        records: list[EdgeRecords] = []
        called = False
        wall_ms = timer_ms or 0
        for message in messages:
            envelope = Envelope.unpack(message.payload)
            wall_ms = max(wall_ms, message.wall_ms)
            if envelope.stage != self.rules.number:
                given.append(message._replace(key=self._key(envelope)))
            elif isinstance(envelope.content, EdgeRecords):
                records.append(envelope.content)
            else:
                called = True
        if not (called or records or timer_ms is not None):
            return Ran(tuple(given))
        name = TaskId(self.settings.group.name, task_of(key))
        task = FrameTask(self.settings, self.rules, name, record, wall_ms)
        if not (records or self._wants(task.record, wall_ms) or timer_ms is not None):
            return Ran(tuple(given), task.record)
        ran = task.run(records)
        given += (Message(self._key(each), wall_ms, each.pack()) for each in _given_out(name, ran))
        shorten_collections()
        return Ran(tuple(given), ran.record)

    def _wants(self, record: TaskRecord, wall_ms: int) -> bool:
        """Return whether a task must run in a batch without records and without a fired timer.

        A task runs in its first batch, to find the time of its next wall-clock work. It also runs
        when that work is due: Spark does not fire the timer of a task that gets a message.
        """
        if not self.rules.timers:
            return False
        return record.batch == 0 or (record.due_ms is not None and record.due_ms <= wall_ms)

    def _key(self, envelope: Envelope) -> int:
        return self.rules.layout.following(envelope.stage, envelope.task, after=self.rules.number)


def _given_out(task: TaskId, ran: TaskRan) -> Iterator[Envelope]:
    """Yield the output of a task in messages of limited size."""
    for sink, table in ran.written:
        for part in EdgeRecords.of(Queue(sink, "", task.partition, table)):
            yield Envelope(DRIVER, task.partition, part)
    for each in ran.forwarded:
        for part in EdgeRecords.of(each.queue):
            yield Envelope(each.stage, each.task, part)
