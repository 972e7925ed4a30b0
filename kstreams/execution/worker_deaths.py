"""Deaths of worker processes in a batch: their number, and the tasks and records involved."""

from __future__ import annotations

from collections.abc import Sequence

from kstreams.batch.batch_run import Parts
from kstreams.batch.messages.envelope import Envelope
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import Where, WorkerDiedError
from kstreams.execution.executor import WorkerLostError
from kstreams.ids import TopicPartition
from kstreams.quoting import one_line

__all__ = ("MOST_DEATHS", "WorkerDeaths")

MOST_DEATHS = 3
"""The number of worker deaths after which a batch is not retried."""

_SHOWN = 10
_HINT = (
    "the batch was rolled back. Check whether the machine or the worker ran out of memory (give "
    "workers more memory, or make batches smaller), and whether code of the topology ends or "
    "crashes its process, perhaps on one of these records."
)

_Span = tuple[str, int, int, int]
"""Topic, partition, the first offset, and the offset after the last."""


class WorkerDeaths:
    """Counts the worker processes that died in one batch.

    Args:
        query: The name of the query.
        batch: The number of the batch.
        groups: The names of the query's groups, by stage.
        width: The number of slots: the shares into which a stage's tasks are divided. Task `t` of a
            later stage has the slot `t % width`.
    """

    def __init__(
        self,
        query: str,
        batch: int,
        groups: Sequence[str],
        *,
        width: int,
    ) -> None:
        self._query = query
        self._batch = batch
        self._groups = groups
        self._width = width
        self._deaths = 0

    def add(self, lost: WorkerLostError, plan: Plan, calls: Parts) -> WorkerDiedError:
        """Count the deaths in an attempt, and return the error to raise if there are too many.

        Args:
            lost: The error with the dead worker.
            plan: The plan of the batch.
            calls: The calls of the batch, by slot.
        """
        self._deaths += lost.deaths
        stage = 0 if len(self._groups) == 1 else lost.stage
        tasks: list[int] = []
        if stage is not None and lost.task is not None:
            tasks = [lost.task]
        elif stage == 0:
            tasks = _called([call for slot in lost.slots for call in calls.get(slot, ())])
        elif stage is not None:
            tasks = [
                task for s, task in plan.tasks if s == stage and task % self._width in lost.slots
            ]
        return self._error(stage, tasks, _spans(plan, stage, tasks))

    def _error(
        self, stage: int | None, tasks: Sequence[int], spans: Sequence[_Span]
    ) -> WorkerDiedError:
        group = self._groups[stage] if stage is not None else None
        names = [f"group {group!r}" if group is not None else f"groups {list(self._groups)!r}"]
        if tasks:
            names.append(f"partition{'s' if len(tasks) > 1 else ''} {', '.join(map(str, tasks))}")
        one = spans[0] if len(spans) == 1 else None
        where = Where(
            group=group,
            partition=tasks[0] if len(tasks) == 1 else None,
            topic=one[0] if one else None,
            offset=one[2] if one else None,
        )
        times = "once" if self._deaths == 1 else f"{self._deaths} times"
        return WorkerDiedError(
            f"a worker process died in batch {self._batch} of query {self._query!r}, {times} "
            f"({', '.join(names)}): it was killed, ran out of memory, or ended itself. "
            f"The process was working on {_shown(spans)}",
            deaths=self._deaths,
            under_way=tuple(spans),
            hint=_HINT,
            where=where,
        )


def _called(sent: Sequence[tuple[int, bytes]]) -> list[int]:
    """Return the first-stage tasks for which there are calls, sorted."""
    envelopes = [Envelope.unpack(payload) for _, payload in sent]
    return sorted({each.task for each in envelopes if each.stage == 0})


def _spans(plan: Plan, stage: int | None, tasks: Sequence[int]) -> list[_Span]:
    """Return the offsets that dead workers were processing, by partition.

    For a stage after the first one these are the offsets of the whole batch.
    """
    if stage == 0:
        own = [plan.tasks.get((0, task), ()) for task in tasks]
    else:
        own = list(plan.tasks.values())
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for each in (piece for slices in own for piece in slices):
        place, begin, end = (each.topic, each.partition), each.from_offset, each.to_offset
        known = spans.get(place, (begin, end))
        spans[place] = min(begin, known[0]), max(end, known[1])
    return [(*place, *span) for place, span in spans.items()]


def _shown(spans: Sequence[_Span]) -> str:
    if not spans:
        return "no records"
    shown = [
        f"{TopicPartition(one_line(topic), partition)} from offset {begin} to {end}"
        for topic, partition, begin, end in spans[:_SHOWN]
    ]
    more = f", and {len(spans) - _SHOWN} more" if len(spans) > _SHOWN else ""
    return ", ".join(shown) + more
