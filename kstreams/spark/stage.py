"""What runs in a Python worker: the tasks of one partition group, for one batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import MappingProxyType

from kstreams.batch.stage_run import Cuts, Message, StageRun
from kstreams.batch.stage_settings import StageSettings
from kstreams.batch.worker_state import this_worker
from kstreams.global_tables.versions import Versions
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.pickling import pickled
from kstreams.spark.worker import (
    add_archives,
    attempt,
    drop_spark_archives,
    leave_quietly,
    load_once,
    shorten_collections,
)
from kstreams.task.gc_pause import gc_pauses

__all__ = ("Stage",)


class Stage:
    """What Spark runs on each of its partitions: settings pickled once, small next to data.

    Args:
        settings: Of the stage.
        archives: Names of the user's packages on executors.
        errors: The way of errors to the driver.
    """

    def __init__(
        self, settings: StageSettings, archives: tuple[str, ...], errors: ErrorChannel
    ) -> None:
        self._reads = settings.group.global_stores
        self._data = pickled(settings)
        self._digest = hashlib.sha256(self._data).hexdigest()
        self._archives = archives
        self._errors = errors

    def in_batch(
        self,
        batch: int,
        cuts: Cuts = MappingProxyType({}),
        versions: Versions = MappingProxyType({}),
    ) -> Callable[[Iterable[Message]], Iterator[Message]]:
        """Return the function of `mapPartitions` that runs tasks for one batch.

        Args:
            batch: Number of the batch.
            cuts: Those of its plan.
            versions: What it reads of global tables.
        """
        own = {each.name for each in self._reads}
        read = {store: version for store, version in versions.items() if store in own}
        return partial(self._run, batch, dict(cuts), read)

    def _run(
        self, batch: int, cuts: Cuts, versions: Versions, messages: Iterable[Message]
    ) -> Iterator[Message]:
        try:
            leave_quietly()
            drop_spark_archives()
            add_archives(self._archives)
            settings: StageSettings = load_once(self._digest, lambda: self._data)
            with gc_pauses():
                run = StageRun(settings, this_worker(), batch, cuts, versions, attempt())
                yield from run.messages(payload for _, payload in messages)
            settings.query.io.read_ahead()
            shorten_collections()
        except GeneratorExit:  # Spark wants no more of it
            raise
        except BaseException as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise self._errors.wrap(exc) from None
