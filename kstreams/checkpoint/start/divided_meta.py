"""The data of a task besides its stores, for another number of tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kstreams.task.progress.task_meta import CANCELLED, NO_TIME, TaskMeta

__all__ = ("divided_meta",)


def divided_meta(
    olds: Mapping[int, TaskMeta], partition: int, count: int, kept: Collection[str]
) -> TaskMeta:
    """Return the data of a new task that has keys of all old tasks.

    The stream time is the latest of all old tasks: windows that were closed stay closed, and
    records before that time are late, as in one task. A schedule is the earliest of all tasks, so
    that no work of a punctuator is left out. Offsets belong to the partitions that a task reads,
    and stay there.

    Args:
        olds: The data of the old tasks, by number.
        partition: The number of the new task.
        count: The number of new tasks.
        kept: The names of the stores that are not divided; their changelogs continue.
    """
    own, every = olds.get(partition, TaskMeta()), olds.values()
    heard = [m.last_record_wall_ms for m in every if m.last_record_wall_ms is not None]
    return TaskMeta(
        max((meta.stream_time for meta in every), default=NO_TIME),
        dict(own.next_offsets),
        _earliest(meta.due for meta in every),
        {name: log for name, log in own.changelogs.items() if name in kept},
        {name: log_id for name, log_id in own.changelog_ids.items() if name in kept},
        max(heard, default=None),
        _latest(meta.closed for meta in every),
        dict(own.partition_times),
        _summed(meta.passed for number, meta in olds.items() if number % count == partition),
    )


def _earliest(every: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the earliest due time of each punctuator that some task has not cancelled."""
    found: dict[str, int] = {}
    for due in every:
        for name, time in due.items():
            known = found.get(name, CANCELLED)
            active = [each for each in (known, time) if each != CANCELLED]
            found[name] = min(active, default=CANCELLED)
    return found


def _latest(every: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for times in every:
        for name, time in times.items():
            found[name] = max(time, found.get(name, NO_TIME))
    return found


def _summed(every: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for counts in every:
        for name, count in counts.items():
            found[name] = found.get(name, 0) + count
    return found
