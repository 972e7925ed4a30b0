"""The rows of a key at each retained version, from the durable log, without user code."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kstreams.checkpoint.savepoint.store_place import StorePlace
from kstreams.errors import StateCorruptError
from kstreams.ids import TaskId
from kstreams.partitioner import Partitioner
from kstreams.state.backend.memory import Memory
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.views.replica import Replica
from kstreams_explain.key_rows import KeyRows, Rows

__all__ = ("KeyChange", "KeyHistory", "history_of")


@dataclass(frozen=True)
class KeyChange:
    """A change of the key by one batch.

    Attributes:
        batch: Number of the batch.
        wall_ms: Time of the commit by the app's clock, ms since the epoch.
        before: The rows of the key before the batch.
        after: The rows of the key after the batch.
    """

    batch: int
    wall_ms: int
    before: Rows
    after: Rows


@dataclass(frozen=True)
class KeyHistory:
    """The history of a key from the oldest retained version to the newest.

    Attributes:
        query: The query that owns the store.
        task: The task that owns the key; the first task if no task has the key.
        retained: The first and the last batch with a retained version; None before the first
            commit.
        first: The rows of the key at the first retained version.
        changes: The changes since then, oldest first.
    """

    query: str
    task: TaskId
    retained: tuple[int, int] | None
    first: Rows
    changes: tuple[KeyChange, ...]

    @property
    def last(self) -> Rows:
        """The current rows of the key."""
        return self.changes[-1].after if self.changes else self.first


def history_of(
    place: StorePlace, rows: KeyRows, partitioner: Partitioner | None = None
) -> KeyHistory:
    """Return the history of a key.

    If the partitioner is not known, all tasks are searched; the history is that of the task that
    has or had the key.

    Args:
        place: The store.
        rows: The key.
        partitioner: The partitioner of the app's keys, if it is not Kafka's default.

    Raises:
        SerializationError: The key does not fit the store's serde.
        StateCorruptError: A version cannot be read.
    """
    rule = place.partitioner(partitioner)
    if rule is not None:
        data = place.spec.key.serialize(rows.key)
        partitions: Sequence[int] = (rule.partition(data, place.partitions),)
    else:
        partitions = range(place.partitions)
    found = [_history(place, rows, partition) for partition in partitions]
    return next((each for each in found if each.first or each.changes), found[0])


def _history(place: StorePlace, rows: KeyRows, partition: int) -> KeyHistory:
    commits = place.checkpoint.commits(place.query, place.objects)
    while True:
        retained = list(commits.of(place.batches()))
        try:
            return _read(place, rows, partition, retained)
        except StateCorruptError:
            if commits.batches()[:1] == [each.batch for each in retained[:1]]:
                raise  # else the first was collected while it was read


def _read(
    place: StorePlace, rows: KeyRows, partition: int, commits: Sequence[Commit]
) -> KeyHistory:
    task = TaskId(place.group, partition)
    first: Rows = ()
    changes: list[KeyChange] = []
    last, version_id = first, ""
    log = DurableLog(place.objects, place.task_key(partition))
    with tempfile.TemporaryDirectory(prefix="kstreams-history-") as home:
        replica = Replica(rows.spec, log, Memory(), Path(home))
        try:
            for number, commit in enumerate(commits):
                text = commit.tasks.get(task)
                pointer = Pointer.empty() if text is None else Pointer.from_json(text)
                if pointer.version_id == version_id:
                    continue
                version_id = pointer.version_id
                found = rows.of(replica.advance(pointer, commit.wall_ms).live())
                if number == 0 and (commit.after is not None or commit.batch == SEED):
                    first = found
                elif found != last:
                    changes.append(KeyChange(commit.batch, commit.wall_ms, last, found))
                last = found
        finally:
            replica.close()
    retained = (commits[0].batch, commits[-1].batch) if commits else None
    return KeyHistory(place.query, task, retained, first, tuple(changes))
