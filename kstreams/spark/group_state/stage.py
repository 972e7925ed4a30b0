"""Runs a task of a partition group as a group of a stateful Spark operator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kstreams.batch.messages.envelope import DRIVER, Envelope
from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.worker.stage_run import StageRun
from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.batch.worker.worker_state import this_worker
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.messages import Message
from kstreams.spark.frames.task_keys import key_of, task_of
from kstreams.spark.group_state.calls import ServerAddress, calls_of_task, settings_of, task_is_done
from kstreams.spark.worker import (
    add_to_import_path,
    drop_spark_archives,
    leave_quietly,
    load_once,
    shorten_collections,
)
from kstreams.task.gc_pause import gc_pauses

__all__ = ("GroupStage", "TaskRan")


@dataclass(frozen=True)
class TaskRan:
    """The result of a task.

    Attributes:
        messages: Records for later stages, and results for the driver.
        record: The new content of the task's row in Spark's state; None: it does not change.
    """

    messages: tuple[Message, ...]
    record: str | None


@dataclass(frozen=True)
class GroupStage:
    """The tasks of one partition group: their function for Spark's stateful operator.

    Attributes:
        server: The address of the `CallServer` on the driver.
        number: The number of the stage.
        digest: The digest of the stage's settings.
        counts: The number of tasks of each stage.
        errors: Transports errors to the driver.
    """

    server: ServerAddress
    number: int
    digest: str
    counts: tuple[int, ...]
    errors: ErrorChannel = field(repr=False)

    def run(self, key: int, messages: Iterable[Message]) -> TaskRan:
        """Run a task for one batch.

        Args:
            key: The group key of the task.
            messages: The messages to the group: records for the task, and results that it must pass
                on. A message without payload only makes Spark call this function.

        Raises:
            WorkerFailure: The task failed; the driver finds the typed error in it.
        """
        try:
            drop_spark_archives()
            leave_quietly()
            return self._run(task_of(key), messages)
        except Exception as exc:  # noqa: BLE001  # whatever code of the user raises
            raise self.errors.wrap(exc) from None

    def _run(self, task: int, messages: Iterable[Message]) -> TaskRan:
        own: list[Envelope] = []
        results: list[Envelope] = []
        ran: list[Envelope] = []
        refused = False
        for message in messages:
            if not message.payload:
                continue
            envelope = Envelope.unpack(message.payload)
            refused = refused or isinstance(envelope.content, Refusal)
            (own if envelope.stage == self.number else results).append(envelope)
        record = None
        calls = calls_of_task(self.server, self.number, task)
        if calls is not None:
            try:
                if not refused:
                    own += map(Envelope.unpack, calls.calls)
                    run = StageRun(
                        self._settings(),
                        this_worker(),
                        calls.batch,
                        calls.turn.cuts,
                        calls.turn.versions,
                        calls.attempt,
                    )
                    with gc_pauses():
                        ran += run.run(own)
            finally:
                task_is_done(self.server, self.number, task)
        refused = refused or any(isinstance(each.content, Refusal) for each in ran)
        for each in ran:
            if calls is not None and isinstance(each.content, TaskStatus):
                record = json.dumps({"batch": calls.batch, "pointer": each.content.pointer})
        shorten_collections()
        following = (*self._passed_on([*results, *ran]), *self._calls(task, refused=refused))
        return TaskRan(following, record)

    def _settings(self) -> StageSettings:
        def read() -> bytes:
            loaded = settings_of(self.server, self.number)
            add_to_import_path(loaded.import_path)
            return loaded.settings

        found: StageSettings = load_once(self.digest, read)
        return found

    def _passed_on(self, envelopes: Iterable[Envelope]) -> Iterator[Message]:
        """Yield envelopes as messages to the next operator.

        Envelopes for later stages and for the driver also go to the next operator, which passes
        them on.
        """
        following = self.number + 1
        for envelope in envelopes:
            key = 0
            if following < len(self.counts):
                key = key_of(envelope.task % self.counts[following])
            yield Message(key, 0, envelope.pack())

    def _calls(self, task: int, *, refused: bool) -> Iterator[Message]:
        """Yield this task's share of the call messages to the tasks of the next stage.

        Args:
            task: The number of this task.
            refused: Whether a task did not run because its input has too many bytes. All tasks of
                the next stage are then called with a `Refusal`, so that they do not run either.
        """
        following = self.number + 1
        if following == len(self.counts):
            return
        payload = Envelope(DRIVER, 0, Refusal(())).pack() if refused else b""
        step = 1 if refused else self.counts[self.number]
        for other in range(0 if refused else task, self.counts[following], step):
            yield Message(key_of(other), 0, payload)
