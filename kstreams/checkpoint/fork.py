"""Begin an app on a copy of another's savepoint; the original is left alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from kstreams.checkpoint.app_objects import epoch_objects
from kstreams.checkpoint.beginnings import begin_log
from kstreams.checkpoint.checkpoint import Checkpoint, refuse_remains
from kstreams.checkpoint.copied_state import copied_state
from kstreams.checkpoint.home import CheckpointHome
from kstreams.checkpoint.named_home import CheckpointName, home_of
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.savepoints import Savepoint, Savepoints
from kstreams.clock import to_ms
from kstreams.errors import SavepointError, StateCorruptError
from kstreams.names import check_incarnation, check_step
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.task_key import loops_prefix
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.loop_objects import copy_loops, rows_by_loop
from kstreams.state.log.totals import Totals

__all__ = ("ForkSource", "copy_savepoint", "fork")

_NOTE = "fork.json"
_FORKED = "forked"
"""Stands for the epoch of batches that were another app's: it is no epoch."""


@dataclass(frozen=True)
class ForkSource:
    """What a fork begins on.

    Args:
        checkpoint: The checkpoint of the original: its directory, URL or storage.
        savepoint: Name of its savepoint.
        log: Where the original keeps its durable log; None is its checkpoint.
        start: Begin reading at this time in every source, instead of at the offsets that
            belong to the state: for topics that are not the original's own. What the state
            holds already may then be counted again, or something be left out; only the
            caller knows which time fits.
    """

    checkpoint: CheckpointName
    savepoint: str
    log: ObjectStoreSettings | None = None
    start: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> ForkSource:
        """Read `checkpoint@savepoint`.

        Raises:
            SavepointError: It is not of this form.
        """
        path, at, name = text.rpartition("@")
        if not (path and at and name):
            raise SavepointError(
                f"{text!r} names no savepoint", hint="write <checkpoint>@<savepoint>."
            )
        return cls(path, name)

    def __str__(self) -> str:
        """Name checkpoint and savepoint."""
        return f"{home_of(self.checkpoint)}@{self.savepoint}"

    def load(self) -> tuple[Savepoint, ObjectStore]:
        """Return the savepoint, and the durable log that has its objects.

        Raises:
            NoCheckpointError: It is no checkpoint.
            SavepointError: It has no such savepoint.
        """
        origin = Checkpoint.load(home_of(self.checkpoint))
        objects = (self.log or origin.log).open()
        return Savepoints(origin, objects).load(self.savepoint), objects


def fork(
    source: ForkSource,
    target: CheckpointName,
    app: str,
    *,
    log: ObjectStoreSettings | None = None,
) -> Checkpoint:
    """Make a checkpoint that begins with a copy of a savepoint's state.

    The copy shares nothing with the original, which may go on, be reset or be deleted. An
    app on it begins with the state of the savepoint, and reads on from the offsets that
    belong to it. Being killed half-way leaves no checkpoint: call again.

    Args:
        source: What to copy.
        target: Where the new checkpoint is to be.
        app: Id of the app that is to run on it.
        log: Durable log of that app; None is the new checkpoint.

    Raises:
        InvalidNameError: The app's id cannot name a directory.
        SavepointError: There is no such savepoint, or a checkpoint at `target` already.
        StateCorruptError: The savepoint's objects are not what they were.
        AppLockedError: An app runs on `target`.
    """
    home = home_of(target)
    lock = home.lock()
    lock.acquire()
    try:
        if home.stamp():
            raise SavepointError(
                f"there is a checkpoint at {home} already",
                hint="fork into another place.",
            )
        return copy_savepoint(source, home, app, log=log)
    finally:
        lock.release()


def copy_savepoint(
    source: ForkSource,
    target: CheckpointHome,
    app: str,
    *,
    log: ObjectStoreSettings | None = None,
) -> Checkpoint:
    """Do the work of `fork`, for one who holds the lock of `target` and has seen it empty.

    What a fork that was cut short has left there is no hindrance, and is removed from the
    log that it wrote to, if this one does too; an app's queries are.
    """
    check_step("an app's id", app)
    refuse_remains(target, but=("state", "commits", _NOTE))
    savepoint, theirs = source.load()
    ours = (log or target.log).open()
    _remove_half(target, app, ours)
    made = replace(
        savepoint.checkpoint,
        home=target,
        revision=-1,
        app=app,
        incarnation=uuid4().hex[:12],
        generations={},
        ended={},
        begun={},
        start_ms=to_ms(source.start) if source.start else None,
        origin=str(source),
    )
    _note(made)
    begun: dict[str, str] = {}
    for query, commit in savepoint.commits.items():
        seed = _seed(theirs, ours, made, query, commit, offsets=source.start is None)
        begun[query] = begin_log(made, query, ours, seed)
    made = replace(made, begun=begun).save()
    target.forget_fork()
    return made


def _note(made: Checkpoint) -> None:
    """Write down which incarnation is being made, before the log has anything of it."""
    document = seal({"app": made.app, "incarnation": made.incarnation}, _NOTE)
    made.home.note_fork(document.data)


def _remove_half(target: CheckpointHome, app: str, objects: ObjectStore) -> None:
    """Delete what a fork has written that was cut short: no one else has its incarnation."""
    note, place = target.fork_note(), f"{target}/{_NOTE}"
    if note is None:
        return
    half_app, epoch = read_document(
        note,
        _NOTE,
        lambda fields, _: (fields.text("app"), fields.text("incarnation")),
        what=f"{place!r}, which says what a fork was making,",
        hint="remove it, if there is no app at this place, and make the fork again.",
        sealed=True,
    )
    if half_app != app:
        raise StateCorruptError(
            f"{place} says that a fork to app {half_app!r} was cut short, not to {app!r}",
            hint=f"fork into another place, or go on with app {half_app!r}.",
        )
    objects.delete(list(epoch_objects(objects, app, check_incarnation(epoch, repr(place)))))
    target.forget_fork()


def _seed(
    source: ObjectStore,
    target: ObjectStore,
    made: Checkpoint,
    query: str,
    commit: Commit,
    *,
    offsets: bool,
) -> Commit:
    """Copy the state of a query's tasks; return what its commit log begins with."""
    tasks = {
        task: copied_state(
            source, target, pointer, made.task_key(query, task), offsets=offsets
        ).to_json()
        for task, pointer in commit.pointers().items()
    }
    loops = copy_loops(source, target, loops_prefix(made.scope(query), _FORKED), commit.loops)
    return Commit(
        SEED,
        made.incarnation,
        commit.wall_ms,
        tasks,
        positions=positions_after(commit) if offsets else {},
        fingerprint=commit.fingerprint,
        loops=loops,
        totals=Totals.of_waiting(rows_by_loop(loops)),
    )
