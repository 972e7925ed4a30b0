"""Runs the tasks of a stage in a stateful Spark operator; Spark sends the object to workers."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from pyspark.sql import SparkSession

from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.frame_task import StageRules
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.messages import Message
from kstreams.spark.frames.shipped import Carried, Shipped
from kstreams.spark.frames.stage_run import Ran, StageRun
from kstreams.spark.frames.task_record import TaskRecord
from kstreams.workers.pickling import pickled

__all__ = ("Stage",)


class Stage:
    """One stage of a pipeline, with the function that Spark calls for each of its tasks.

    The settings are pickled once.

    Args:
        settings: The settings of the stage.
        rules: The rules for its tasks.
        shipped: The user's modules.
        errors: The channel of errors to the driver.

    Raises:
        CompileError: A part of the settings cannot be pickled. The message names the node, if the
            part is a node.
    """

    def __init__(
        self, settings: StageSettings, rules: StageRules, shipped: Shipped, errors: ErrorChannel
    ) -> None:
        self.rules = rules
        self.errors = errors
        self._carried: Carried[StageSettings] = Carried.of(pickled(settings), shipped)

    @property
    def layout(self) -> Layout:
        """The layout of the tasks."""
        return self.rules.layout

    @property
    def timers(self) -> bool:
        """Whether Spark calls tasks at the times that they request."""
        return self.rules.timers

    @property
    def size_bytes(self) -> int:
        """The size of the data that Spark sends to workers for the stage, in bytes."""
        carried = self._carried
        archive = carried.shipped.archive
        return len(carried.data or b"") + (0 if archive is None else len(archive.data))

    def in_file(self, session: SparkSession) -> Stage:
        """Return a copy whose settings are in a file, which a classic session sends."""
        made = copy(self)
        made._carried = self._carried.in_file(session)
        return made

    def run(
        self,
        key: int,
        messages: Iterable[Message],
        record: TaskRecord | None,
        *,
        timer_ms: int | None = None,
    ) -> Ran:
        """Run the task of a group key for one batch.

        A bounded DataFrame has one batch, keeps no state, and closes windows at its end.

        Args:
            key: The group key.
            messages: The messages for the group.
            record: The task record in Spark's state; None before the first batch, and for a bounded
                DataFrame.
            timer_ms: The wall time of the batch, ms since the epoch, if the task's timer fired;
                otherwise None.

        Raises:
            WorkerFailure: The task failed; the exception holds the typed error.
        """
        try:
            run = StageRun(self.rules, self._carried.get())
            return run.run(key, messages, record, timer_ms)
        except BaseException as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise self.errors.wrap(exc) from None
