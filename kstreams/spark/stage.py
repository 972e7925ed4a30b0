"""The code of a Python worker: the tasks of one partition group, batch after batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kstreams.batch.worker.stage_run import Cuts, Message, StageRun
from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.batch.worker.worker_state import this_worker
from kstreams.global_tables.versions import Versions
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.worker import (
    add_to_import_path,
    attempt,
    drop_spark_archives,
    leave_quietly,
    load_once,
    shorten_collections,
)
from kstreams.task.gc_pause import gc_pauses
from kstreams.workers.pickling import pickled

__all__ = ("Stage", "Turn", "Turns")


class Turn(NamedTuple):
    """The part of a batch that is the same for all workers of a stage.

    Attributes:
        batch: The number of the batch.
        cuts: The cuts of the batch's plan.
        versions: The versions of global tables that the stage reads.
    """

    batch: int
    cuts: Cuts
    versions: Versions


class Turns(Protocol):
    """The batches that a worker runs, one after another."""

    def next(self) -> tuple[Turn, Sequence[Message]] | None:
        """Wait for a batch; return its data and this worker's messages, or None at the end."""

    def answer(self, messages: Sequence[Message]) -> None:
        """Send the results of the tasks to the driver."""


class Stage:
    """The function that Spark runs in partitions, with the settings of a stage, pickled once.

    Args:
        settings: The settings of the stage.
        import_path: Folders of the user's modules on executors.
        errors: The channel of errors to the driver.
    """

    def __init__(
        self, settings: StageSettings, import_path: tuple[str, ...], errors: ErrorChannel
    ) -> None:
        self._reads = settings.group.global_stores
        self._data = pickled(settings)
        self._digest = hashlib.sha256(self._data).hexdigest()
        self._import_path = import_path
        self._errors = errors

    def in_batch(
        self,
        batch: int,
        cuts: Cuts = MappingProxyType({}),
        versions: Versions = MappingProxyType({}),
    ) -> Callable[[Iterable[Message]], Iterator[Message]]:
        """Return the `mapPartitions` function that runs tasks for one batch.

        Args:
            batch: The number of the batch.
            cuts: The cuts of the batch's plan.
            versions: The versions of global tables in the batch's plan.
        """
        return partial(self._run, self.turn(batch, cuts, versions))

    def turn(self, batch: int, cuts: Cuts, versions: Versions) -> Turn:
        """Return the part of a batch for all workers; arguments as for `in_batch`."""
        own = {each.name for each in self._reads}
        read = {store: version for store, version in versions.items() if store in own}
        return Turn(batch, dict(cuts), read)

    def batch_after_batch(self, turns: Turns) -> None:
        """Run tasks for batches until there are no more, in a worker.

        Args:
            turns: The batches, with the messages to this worker; receives its results.

        Raises:
            WorkerFailure: A task failed; the exception contains the typed error.
        """
        while (given := turns.next()) is not None:
            turn, messages = given
            with self._failing():
                settings = self._ready()
                turns.answer(list(self._messages(settings, turn, messages)))
                self._rest(settings)

    def _run(self, turn: Turn, messages: Iterable[Message]) -> Iterator[Message]:
        with self._failing():
            settings = self._ready()
            yield from self._messages(settings, turn, messages)
            self._rest(settings)

    def _ready(self) -> StageSettings:
        """Prepare the worker, unless it is prepared; return the settings of the stage."""
        leave_quietly()
        drop_spark_archives()
        add_to_import_path(self._import_path)
        settings: StageSettings = load_once(self._digest, lambda: self._data)
        return settings

    def _messages(
        self, settings: StageSettings, turn: Turn, messages: Iterable[Message]
    ) -> Iterator[Message]:
        with gc_pauses():
            run = StageRun(settings, this_worker(), *turn, attempt())
            yield from run.messages(payload for _, payload in messages)

    def _rest(self, settings: StageSettings) -> None:
        """Prepare the next batch when a batch is done in this worker."""
        settings.query.io.read_ahead()
        shorten_collections()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Convert exceptions in the block to typed errors for the driver."""
        try:
            yield
        except GeneratorExit:  # Spark wants no more of it
            raise
        except BaseException as exc:  # noqa: BLE001  # all of it
            raise self._errors.wrap(exc) from None
