"""What runs in a Python worker: the tasks of one partition group, for one batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from pyspark import cloudpickle

from kstreams.batch.envelope import DRIVER, Envelope
from kstreams.batch.refusal import Refusal
from kstreams.batch.stage_settings import StageSettings
from kstreams.batch.task_run import TaskRun, slices_of
from kstreams.errors import CompileError, KStreamsError, RecordRefusedError, Where
from kstreams.quoting import text_of
from kstreams.raw_batch import TooManyBytesError
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.worker import add_archives, drop_spark_archives, freeze_heap, load_once
from kstreams.task.gc_pause import gc_pauses
from kstreams.task.queues import Queue

__all__ = ("Message", "Stage", "StageRun")

Message = tuple[int, bytes]
"""A Spark partition, and the payload of an envelope for a task in it."""

Cuts = Mapping[tuple[int, int], int]
"""`Plan.cuts`: by stage number and task, the revision by which it got less to read."""


class Stage:
    """What Spark runs on each of its partitions: settings pickled once, small beside data.

    Args:
        settings: Of the stage.
        archives: Names of the user's packages on executors.
        errors: The way of errors to the driver.
    """

    def __init__(
        self, settings: StageSettings, archives: tuple[str, ...], errors: ErrorChannel
    ) -> None:
        self._data = _pickled(settings)
        self._digest = hashlib.sha256(self._data).hexdigest()
        self._archives = archives
        self._errors = errors

    def in_batch(
        self, batch: int, cuts: Cuts = MappingProxyType({})
    ) -> Callable[[Iterable[Message]], Iterator[Message]]:
        """Return the function of `mapPartitions` that runs tasks for one batch.

        Args:
            batch: Number of the batch.
            cuts: Those of its plan.
        """
        return partial(self._run, batch, dict(cuts))

    def _run(self, batch: int, cuts: Cuts, messages: Iterable[Message]) -> Iterator[Message]:
        try:
            drop_spark_archives()
            add_archives(self._archives)
            settings: StageSettings = load_once(self._digest, self._data)
            with gc_pauses():
                run = StageRun(settings, batch, cuts)
                yield from run.messages(payload for _, payload in messages)
            settings.io.read_ahead()
            freeze_heap()
        except GeneratorExit:  # Spark wants no more of it
            raise
        except BaseException as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise self._errors.wrap(exc) from None


def _pickled(settings: StageSettings) -> bytes:
    """Pickle settings, user code by value where it has no module of its own.

    Raises:
        CompileError: Something in them does not pickle; names the node if it is one.
    """
    try:
        return _dumps(settings)
    except Exception as exc:  # whatever an object of the user's raises
        for node in settings.group.nodes:
            try:
                _dumps(node)
            except Exception as cause:  # as above
                raise CompileError(
                    f"the node cannot be sent to executors: {text_of(cause)}",
                    hint="make what it holds (connections, locks, files) in the processor's init",
                    where=Where(group=settings.group.name, node=node.name),
                ) from cause
        raise CompileError(
            "the backend, the connection or an interceptor cannot be sent to executors: "
            f"{text_of(exc)}",
            hint="they are settings: they must pickle",
        ) from exc


def _dumps(item: object) -> bytes:
    data: bytes = cloudpickle.dumps(item)  # type: ignore[no-untyped-call]  # pyspark's
    return data


class StageRun:
    """The tasks of one stage on one Spark partition, in one batch.

    Args:
        settings: The stage's.
        batch: Number of the batch.
        cuts: Those of its plan.
    """

    def __init__(
        self, settings: StageSettings, batch: int, cuts: Cuts = MappingProxyType({})
    ) -> None:
        self._settings = settings
        self._batch = batch
        self._cuts = cuts

    def messages(self, payloads: Iterable[bytes]) -> Iterator[Message]:
        """Run the tasks that are addressed; yield what goes on to later stages."""
        tasks: dict[int, list[Envelope]] = {}
        refused = False
        for payload in payloads:
            envelope = Envelope.unpack(payload)
            refused = refused or envelope.kind == "refusal"
            if envelope.stage == self._settings.number:
                tasks.setdefault(envelope.task, []).append(envelope)
            else:
                yield self._addressed(envelope)
        if refused:
            return  # what came from the stage before is not all
        called = {t: own for t, own in tasks.items() if any(e.kind != "state" for e in own)}
        slices = {task: slices_of(called[task]) for task in sorted(called)}
        try:
            read = self._settings.io.read(
                [each for own in slices.values() for each in own],
                max_bytes=self._settings.max_bytes,
            )
        except TooManyBytesError as exc:
            yield from self._refusals(list(slices), exc)
            return
        for task, own in slices.items():
            queues, read = read[: len(own)], read[len(own) :]
            for envelope in self._run_task(task, called.pop(task), queues):
                yield self._addressed(envelope)

    def _refusals(self, tasks: Sequence[int], exc: TooManyBytesError) -> Iterator[Message]:
        """Tell the driver which tasks were not run, and each partition of the next stage."""
        own = self._settings.number
        head = Refusal(tuple((own, task) for task in tasks), exc.sizes).to_json()
        yield self._addressed(Envelope("refusal", DRIVER, 0, head))
        if own + 1 < len(self._settings.counts):
            for partition in range(1, self._settings.width):
                empty = Refusal(()).to_json()
                yield self._addressed(Envelope("refusal", DRIVER, partition, empty))

    def _addressed(self, envelope: Envelope) -> Message:
        """Address a message to the next stage, whichever it is for."""
        return envelope.task % self._settings.width, envelope.pack()

    def _run_task(
        self, task: int, envelopes: list[Envelope], queues: list[Queue]
    ) -> Iterator[Envelope]:
        settings = self._settings
        try:
            run = TaskRun(settings, task, self._batch, self._revision(task))
            yield from run.run(envelopes, queues)
        except KStreamsError as exc:
            if isinstance(exc, RecordRefusedError):
                exc.message += _origin(queues)
            exc.hint = exc.hint or "mend the cause and restart: nothing of this batch was kept"
            exc.at(group=settings.group.name, partition=task)
            raise

    def _revision(self, task: int) -> int:
        """Return the revision of the plan by which a task's input is not what it was."""
        own = self._settings.number
        return max(
            (
                r
                for (stage, cut), r in self._cuts.items()
                if stage < own or (stage, cut) == (own, task)
            ),
            default=0,
        )


def _origin(queues: Sequence[Queue]) -> str:
    """Say which records a batch's task has read: a result that is refused comes of one of them."""
    read = (
        f"{queue.topic_partition} from offset {ends[0].as_py()} to {ends[-1].as_py()}"
        for queue in queues
        if len(ends := queue.table.column("offset"))
    )
    found = ", ".join(read)
    return f"; the task had read {found}" if found else ""
