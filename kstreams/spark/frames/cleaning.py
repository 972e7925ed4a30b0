"""Removing what no version of a task's state is made of any more.

Nobody but a task's own batches could do it: Spark has the pointers, and tells nobody. Every so
many batches a task lists its objects, and leaves a note of those that its pointer does not name:
passed versions, and leftovers of attempts. What notes have had since long enough goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from kstreams.clock import to_ms
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey, app_prefix, garbage_prefix
from kstreams.state.log.pointer import Pointer

__all__ = ("Cleaning",)


@dataclass(frozen=True)
class Cleaning:
    """When objects of a task's state are removed that its pointer has stopped naming.

    Attributes:
        retained_batches: How many batches they stay at least: Spark keeps that many in its
            checkpoint (`spark.sql.streaming.minBatchesToRetain`), to which one may go back.
        min_age: How long they stay at least.
        every: How many batches lie between two notes.
    """

    retained_batches: int = 100
    min_age: timedelta = timedelta(hours=1)
    every: int = 50

    def is_due(self, batch: int, last: int) -> bool:
        """Tell whether a batch is to look, when `last` was the last that did."""
        return batch // self.every > last // self.every

    def clean(
        self,
        log: ObjectStore,
        task: TaskKey,
        pointers: Iterable[Pointer],
        *,
        batch: int,
        wall_ms: int,
    ) -> tuple[str, ...]:
        """Remove what has gone unnamed for long enough, and note what is unnamed now.

        What is removed is in the newest note that is old enough, in the one before that, and in
        all since: an object that was made beside the batches, and not named at first, is younger
        than the first of them. Any number of attempts may do it at once.

        Args:
            log: The durable log.
            task: The task.
            pointers: The versions that the batch began with, and leads to.
            batch: Number of the batch.
            wall_ms: Its wall time, ms since the epoch.

        Returns:
            The names of the objects that were removed, sorted.
        """
        named = {ref.name for pointer in pointers for ref in pointer.objects()}
        unnamed = [name for name in log.list(task.prefix) if name not in named]
        prefix = garbage_prefix(task.app) + task.prefix.removeprefix(app_prefix(task.app))
        notes = list(log.list(prefix))
        old = [note for note in notes if self._is_old(note, batch, wall_ms)]
        log.put_if_absent(f"{prefix}{batch:020d}-{wall_ms:020d}", json.dumps(unnamed).encode())
        if len(old) < 2:
            return ()
        gone = set(unnamed)
        for note in notes[notes.index(old[-2]) :]:
            gone &= set(json.loads(log.get(note)))
        log.delete([*sorted(gone), *old[:-2]])
        return tuple(sorted(gone))

    def _is_old(self, note: str, batch: int, wall_ms: int) -> bool:
        noted, _, time = note.rpartition("/")[2].partition("-")
        return int(noted) <= batch - self.retained_batches and int(time) <= wall_ms - to_ms(
            self.min_age
        )
