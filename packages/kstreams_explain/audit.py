"""Replay random committed task-batches, and compare their changes with the committed changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from kstreams.errors import KStreamsError, ProcessingError, ReplayError
from kstreams.ids import TaskId
from kstreams_explain.batch_replay import BatchReplay
from kstreams_explain.comparison import compared
from kstreams_explain.replayed_app import ReplayedApp, ReplayedQuery

__all__ = ("AuditedTask", "audit")


@dataclass(frozen=True)
class AuditedTask:
    """The result of replaying one task of one batch.

    Attributes:
        query: Name of the query.
        batch: Number of the batch.
        task: The task.
        how: The comparison that was made, see `Compared.how`; empty if the replay failed.
        differs: The difference to the commit; empty if there is none. A difference means that a
            processor is not deterministic, reads changing data outside, or has changed.
        not_run: The reason why the replay was not possible; empty if it was.
    """

    query: str
    batch: int
    task: TaskId
    how: str = ""
    differs: str = ""
    not_run: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the JSON object `{query, batch, task, how, differs, not_run}`."""
        return {**vars(self), "task": str(self.task)}


def audit(app: ReplayedApp, count: int, *, seed: int | None = None) -> Iterator[AuditedTask]:
    """Replay random retained task-batches and compare the bytes of their changes.

    Args:
        app: The app.
        count: Number of task-batches to draw from the tasks with stores; all of them if there
            are fewer.
        seed: Seed of the random choice; None chooses differently at each call.

    Yields:
        One result for each task-batch, batch by batch.

    Raises:
        CheckpointMismatchError: The topology is not the one that the app has run.
        ReplayError: A replay would call an external service.
        StoreError: Committed data cannot be read.
    """
    chosen: dict[tuple[str, int], list[TaskId]] = {}
    drawn = random.Random(seed)  # noqa: S311  # a sample, no secret
    retained = list(_retained(app))
    for query, batch, task in sorted(drawn.sample(retained, min(count, len(retained)))):
        chosen.setdefault((query, batch), []).append(task)
    for (query, batch), tasks in chosen.items():
        with app.query(query) as opened:
            yield from _audited(opened, query, batch, tasks)


def _retained(app: ReplayedApp) -> Iterator[tuple[str, int, TaskId]]:
    """Yield the task-batches with stores whose plan, commit and previous commit are retained."""
    stores = {group.name for group in app.topology.groups if group.stores}
    for query in app.checkpoint.queries:
        with app.query(query) as opened:
            for batch in opened.opened.commits.batches():
                try:
                    replay = BatchReplay(opened, batch)
                except ReplayError:
                    continue  # the first retained commit, or commits before an upgrade
                yield from ((query, batch, task) for task in replay.tasks if task.group in stores)


def _audited(
    query: ReplayedQuery, name: str, batch: int, tasks: list[TaskId]
) -> Iterator[AuditedTask]:
    try:
        replay = BatchReplay(query, batch)
    except ReplayError as gone:  # collected since it was chosen
        yield from (AuditedTask(name, batch, task, not_run=gone.message) for task in tasks)
        return
    objects, settings = query.opened.objects, query.settings
    for task in tasks:
        try:
            state = replay.run([task])[task]
            found = compared(replay, task, state, settings.task_key(task), objects)
        except ProcessingError as exc:
            yield AuditedTask(name, batch, task, differs=f"it fails now: {exc.message}")
        except KStreamsError as exc:
            yield AuditedTask(name, batch, task, not_run=f"{type(exc).__name__}: {exc.message}")
        else:
            yield AuditedTask(name, batch, task, found.how, found.differs)
