"""Removal of objects in the durable log that no version of a task's state uses any more.

The task itself removes them during its batches, because the pointers that name the used objects are
in Spark's state. At intervals, a task lists its objects and writes a note with the unused ones: old
versions and files of failed attempts. Objects that have been in the notes long enough are removed.
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
    """The policy for the removal of objects that a task's pointer no longer names.

    Attributes:
        retained_batches: The minimum number of batches until removal: Spark retains that many in
            its checkpoint (`spark.sql.streaming.minBatchesToRetain`) for a rollback.
        min_age: The minimum time until removal.
        every: The number of batches between two lists of unused objects (notes).
    """

    retained_batches: int = 100
    min_age: timedelta = timedelta(hours=1)
    every: int = 50

    def is_due(self, batch: int, last: int) -> bool:
        """Return whether a batch must list objects.

        Args:
            batch: The number of the batch.
            last: The number of the last batch that listed objects.
        """
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
        """Remove objects that have been unused for long enough, and write the next note.

        The note lists the task's objects that no pointer names now.

        An object is removed if it is in the newest note that is old enough, in the note before that
        one, and in all later notes. So an object that another attempt has created, and names in its
        pointer only later, is not removed. Several attempts may run at the same time.

        Args:
            log: The durable log.
            task: The task whose objects are removed.
            pointers: The first and the last version of the batch.
            batch: The number of the batch.
            wall_ms: The wall time of the batch, ms since the epoch.

        Returns:
            The names of the removed objects, sorted.
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
