"""Copies a task's state for another task; the copied objects are named after the new task."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.durable import checked_object
from kstreams.state.log.packs import PACK_SUFFIX
from kstreams.state.log.pointer import ObjectRef, Pointer

__all__ = ("copied_state",)

_PARALLEL_COPIES = 8


def copied_state(
    source: ObjectStore, target: ObjectStore, pointer: Pointer, task: TaskKey, *, offsets: bool
) -> Pointer:
    """Copy a version of a task's state. Repeating the copy changes nothing.

    In the copy, each object has its own name, also if the original is a part of a pack.

    Args:
        source: The durable log with the version.
        target: The durable log for the copy.
        pointer: The pointer of the version.
        task: The task that owns the copy.
        offsets: Whether the copy keeps the source offsets of the state.

    Returns:
        The pointer of the copy, without the changelog positions of the original.

    Raises:
        StateCorruptError: An object is damaged or missing.
    """

    def copy(ref: ObjectRef, kind: str) -> ObjectRef:
        name = task.prefix + _own_name(ref, kind)
        target.put_if_absent(name, checked_object(source, ref))
        return replace(ref, name=name, part=None)

    meta = dict(pointer.meta)
    for part in ("logs", "log_ids", *(() if offsets else ("next",))):
        meta.pop(part, None)
    with ThreadPoolExecutor(_PARALLEL_COPIES, "kstreams-copy") as pool:
        return replace(
            pointer,
            snapshot=tuple(pool.map(partial(copy, kind="chunk"), pointer.snapshot)),
            deltas=tuple(pool.map(partial(copy, kind="delta"), pointer.deltas)),
            meta=meta,
        )


def _own_name(ref: ObjectRef, kind: str) -> str:
    """Return the last part of an object's name; for a part of a pack, the name of its copy."""
    last = ref.name.rpartition("/")[2]
    if ref.part is None:
        return last
    pack = last.partition("-")[2].removesuffix(PACK_SUFFIX)
    merged = f"{ref.level}.run" if ref.level else kind
    return f"{ref.version:020d}-{pack}-{ref.part.start}.{merged}"
