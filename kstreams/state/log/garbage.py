"""Garbage collection of objects that no retained version uses.

An object is unnamed if no retained pointer refers to it. There are two kinds of unnamed objects:
those of old versions, and those of attempts whose batch is not yet, or never will be, committed.
Objects of the second kind are only deleted if two collections at least `min_age` apart, by the
given clock, found them unnamed. Notes in the durable log list the unnamed objects of earlier
collections. After the clock was set, no object counts as old until `min_age` has passed, and a note
from the future is deleted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from kstreams.clock import Clock, to_ms
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey, app_prefix, garbage_prefix
from kstreams.state.log.pointer import Pointer

__all__ = ("Collected", "collect_garbage")

_NUMBERED = re.compile(r"(\d{1,20})-")


@dataclass(frozen=True)
class Collected:
    """The result of one collection.

    Args:
        deleted: The names of the deleted objects, sorted.
        waiting: The number of objects without a retained pointer that are too new to delete.
    """

    deleted: tuple[str, ...]
    waiting: int


def collect_garbage(
    log: ObjectStore,
    keep: Mapping[TaskKey, Iterable[Pointer]],
    *,
    clock: Clock,
    min_age: timedelta,
    pinned: Collection[str] = (),
    set_ms: int | None = None,
) -> Collected:
    """Delete the objects of an app's tasks that no retained pointer names.

    Deltas up to the oldest retained version of their task are deleted immediately. Any other
    object is deleted after no pointer has named it for `min_age`. Objects of versions after the
    newest retained version stay, because they may belong to a running batch. Only one process of an
    app may call this function at a time; the process may be killed at any time.

    Args:
        log: The durable log.
        keep: By task, every pointer that must stay restorable or that an attempt may start from:
            the pointers of at least the last two commits, because a batch may be retried, also
            empty pointers. Objects of other tasks are not deleted.
        clock: The clock.
        min_age: A time longer than any batch, from its first write to its commit.
        pinned: The names of other objects to retain, such as those of savepoints.
        set_ms: The last time (ms, by the clock itself) at which a process noticed that the clock
            had been set; objects count as old only `min_age` later. None if no process noticed it.

    Returns:
        The deleted objects, and the number of other unnamed objects, which are too new to delete.

    Raises:
        ValueError: The tasks belong to several apps.
    """
    kept = {task: tuple(pointers) for task, pointers in keep.items()}
    apps = {task.app for task in kept}
    if len(apps) > 1:
        raise ValueError(f"cannot collect garbage of several apps at once: {sorted(apps)}")
    named = {ref.name for pointers in kept.values() for p in pointers for ref in p.objects()}
    named.update(pinned)
    versions = {task.prefix: [p.version for p in found] for task, found in kept.items() if found}
    passed: list[str] = []
    doubtful: list[str] = []
    for name in (name for app in apps for name in log.list(app_prefix(app))):
        retained = versions.get(name[: name.rfind("/") + 1])
        version = _number_of(name)
        if retained is None or version is None or name in named:
            continue
        if version <= min(retained) and name.endswith(".delta"):
            passed.append(name)
        elif version <= max(retained):
            doubtful.append(name)
    now_ms = clock.now_ms()
    ages = _Ages(now_ms, to_ms(min_age), set_ms)
    ripe = [name for app in apps for name in _ripe(log, app, doubtful, ages)]
    deleted = sorted([*passed, *ripe])
    log.delete(deleted)
    return Collected(tuple(deleted), len(doubtful) - len(ripe))


@dataclass(frozen=True)
class _Ages:
    now_ms: int
    min_ms: int
    set_ms: int | None

    def is_old(self, time: int) -> bool:
        believed = self.set_ms is None or self.set_ms <= self.now_ms - self.min_ms
        return believed and time <= self.now_ms - self.min_ms


def _ripe(log: ObjectStore, app: str, doubtful: list[str], ages: _Ages) -> list[str]:
    """Return the objects in `doubtful` that a note at least `min_age` old lists.

    The function also writes a note that lists `doubtful`, if the newest note is old enough.

    A note from the future was written before the clock was set back. Its age cannot be known,
    so it is deleted.
    """
    prefix = garbage_prefix(app)
    numbered = ((_number_of(name), name) for name in log.list(prefix))
    found = {time: name for time, name in numbered if time is not None}
    notes = {time: name for time, name in found.items() if time <= ages.now_ms}
    old = [time for time in notes if ages.is_old(time)]
    seen = _noted(log.get(notes[max(old)])) if old else frozenset[str]()
    if doubtful and (not notes or ages.now_ms - max(notes) > ages.min_ms // 2):
        log.put_if_absent(f"{prefix}{ages.now_ms:020d}-unnamed", json.dumps(doubtful).encode())
    passed = [notes[time] for time in old if time != max(old)]
    log.delete([*passed, *(name for time, name in found.items() if time > ages.now_ms)])
    return [name for name in doubtful if name in seen]


def _noted(data: bytes) -> frozenset[str]:
    """Return the object names in a note; empty for a damaged note, so that nothing is deleted."""
    try:
        return frozenset(name for name in json.loads(data) if isinstance(name, str))
    except (ValueError, TypeError, RecursionError):
        return frozenset()


def _number_of(name: str) -> int | None:
    """Return the version or time that an object's name begins with; None if it has no number."""
    match = _NUMBERED.match(name.rpartition("/")[2])
    return None if match is None else int(match[1])
