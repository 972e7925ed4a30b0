"""Compare the changes of a replayed task with its committed changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kstreams.errors import ObjectMissingError
from kstreams.ids import TaskId
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import Changes
from kstreams.state.log.delta import DIGEST_BYTES, decode, encode
from kstreams.state.log.durable import DurableLog, checked_object
from kstreams.state.log.pointer import Pointer, version_id_after
from kstreams_explain.batch_replay import BatchReplay
from kstreams_explain.replayed_state import ReplayedState

__all__ = ("Compared", "compared")

_META = ("time", "next", "due", "closed", "times", "heard")


@dataclass(frozen=True)
class Compared:
    """The result of comparing a replayed task with its commit.

    Attributes:
        how: `delta`: the bytes of the batch's own delta were compared. `state`: the delta has been
            merged with other deltas since, so all rows of the version were compared. `nothing`: the
            batch changed no store.
        differs: A short description of the difference; empty if there is none.
    """

    how: Literal["delta", "state", "nothing"]
    differs: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether the replay made the same changes."""
        return not self.differs


def compared(
    replay: BatchReplay, task: TaskId, state: ReplayedState, key: TaskKey, objects: ObjectStore
) -> Compared:
    """Compare the changes of a replayed task with the committed changes, byte for byte.

    Args:
        replay: The batch.
        task: The task to compare.
        state: The state of the task after the replay.
        key: Name of the task in the durable log.
        objects: The durable log.

    Raises:
        StateCorruptError: Committed data cannot be read.
    """
    text = "" if replay.before is None else replay.before.tasks.get(task, "")
    before = Pointer.from_json(text) if text else Pointer.empty()
    after = Pointer.from_json(replay.commit.tasks[task])
    found = _compared(before, after, state.changes or {}, DurableLog(objects, key), state)
    if found.is_equal and (differing := _differing_meta(after, state)):
        return Compared(found.how, f"the replay has different {differing}")
    return found


def _compared(
    before: Pointer, after: Pointer, changes: Changes, log: DurableLog, state: ReplayedState
) -> Compared:
    if before.version_id == after.version_id:
        return Compared("nothing", _stores(changes, "it changes rows of") if changes else "")
    data = _delta(before, after, log)
    if data is None:
        return Compared("state", _differing_state(after, log, state))
    header, committed = decode(data)
    if encode(changes, header) == data:
        return Compared("delta")
    differing = {
        store: changed
        for store, changed in {**committed, **changes}.items()
        if committed.get(store) != changes.get(store)
    }
    return Compared("delta", _stores(differing, "other rows of"))


def _delta(before: Pointer, after: Pointer, log: DurableLog) -> bytes | None:
    """Return the delta between two successive versions; None if it is not stored by itself."""
    for ref in after.deltas[-1:]:
        if ref.level == 0 and ref.version == after.version:
            return checked_object(log.objects, ref)
    prefix = f"{log.task.prefix}{after.version:020d}-"
    for name in log.objects.list(prefix):
        if not name.endswith(".delta"):
            continue
        try:
            data = log.objects.get(name)
        except ObjectMissingError:  # collected since it was listed
            continue
        if version_id_after(before.version_id, data[-DIGEST_BYTES:]) == after.version_id:
            return data
    return None


def _differing_state(after: Pointer, log: DurableLog, state: ReplayedState) -> str:
    """Compare all rows of a version; return the difference as text, empty if there is none."""
    names = sorted({*after.stores, *state.stores})
    committed, ours = MemoryStore(names), state.advanced()
    log.restore(after, committed)
    differing = [
        name
        for name in names
        if list(committed.scan(name, None, None))
        != (list(ours.scan(name, None, None)) if name in state.stores else [])
    ]
    return _stores(differing, "other rows of")


def _differing_meta(after: Pointer, state: ReplayedState) -> str:
    ours = state.meta.to_json()
    return ", ".join(name for name in _META if ours.get(name) != after.meta.get(name))


def _stores(names: Iterable[str], text: str) -> str:
    """Return `text`, followed by the names of stores; an empty text without stores."""
    found = ", ".join(map(repr, sorted(names)))
    return f"{text} {found}" if found else ""
