"""Run random committed task-batches again: do they still change what they have changed?"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from kstreams.errors import KStreamsError, ProcessingError, ReplayError
from kstreams.explain.batch_replay import BatchReplay
from kstreams.explain.comparison import compared
from kstreams.explain.replayed_app import ReplayedApp, ReplayedQuery
from kstreams.ids import TaskId

__all__ = ("AuditedTask", "audit")


@dataclass(frozen=True)
class AuditedTask:
    """A task-batch that ran again, or could not.

    Attributes:
        query: Name of the query.
        batch: Number of the batch.
        task: The task.
        how: What was compared: see `Compared.how`; empty where it could not run.
        differs: What is not as it was; empty where all is. The processor is not deterministic,
            reads something that has changed outside, or is another one than then.
        not_run: Why it could not run again; empty where it did.
    """

    query: str
    batch: int
    task: TaskId
    how: str = ""
    differs: str = ""
    not_run: str = ""

    def to_json(self) -> dict[str, object]:
        """Return plain data: `{query, batch, task, how, differs, not_run}`."""
        return {**vars(self), "task": str(self.task)}


def audit(app: ReplayedApp, count: int, *, seed: int | None = None) -> Iterator[AuditedTask]:
    """Run random retained task-batches again, and compare the bytes that they change.

    Args:
        app: Whose.
        count: How many, of tasks with stores; all there are if there are no more.
        seed: Decides which; None is another choice each time.

    Yields:
        A result for each, batch by batch.

    Raises:
        CheckpointMismatchError: The topology is not the one that has run.
        ReplayError: It would call outside.
        StoreError: What was committed cannot be read.
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
    """Yield the task-batches with stores whose plan, commit and commit before are there."""
    stores = {group.name for group in app.topology.groups if group.stores}
    for query in app.checkpoint.queries:
        with app.query(query) as opened:
            for batch in opened.opened.commits.batches():
                try:
                    replay = BatchReplay(opened, batch)
                except ReplayError:
                    continue  # the first that is retained; those of before an upgrade
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
