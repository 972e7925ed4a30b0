"""Forks: new apps that start from a copy of another app's savepoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from kstreams.checkpoint.checkpoint import Checkpoint, refuse_remains
from kstreams.checkpoint.log_headers import begin_log
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.savepoint.app_objects import epoch_objects
from kstreams.checkpoint.savepoint.copied_state import copied_state
from kstreams.checkpoint.savepoint.savepoints import Savepoint, Savepoints
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.named_home import CheckpointName, home_of
from kstreams.clock import to_ms
from kstreams.errors import SavepointError, StateCorruptError
from kstreams.names import check_checkpoint_id, check_step
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.task_key import loops_prefix
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.document import read_document, seal
from kstreams.state.log.loop_objects import copy_loops, rows_by_loop
from kstreams.state.log.stored_names import STORED_NAMES
from kstreams.state.log.totals import Totals

__all__ = ("ForkSource", "copy_savepoint", "fork")

_NOTE = "fork.json"
_FORKED = "forked"
"""The epoch in names of copied loop objects; no query has this epoch."""


@dataclass(frozen=True)
class ForkSource:
    """The savepoint that a fork starts from.

    Args:
        checkpoint: The checkpoint of the original app: its directory, URL or storage.
        savepoint: The name of the savepoint.
        log: The durable log of the original app; None if it is in the checkpoint.
        start: The time at which to start reading every source, for topics other than the
            original's; None starts at the offsets of the state. With a time, records that the
            state already contains may be processed again, or records may be missed.
    """

    checkpoint: CheckpointName
    savepoint: str
    log: ObjectStoreSettings | None = None
    start: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> ForkSource:
        """Parse `checkpoint@savepoint`.

        Raises:
            SavepointError: The text does not have this form.
        """
        path, at, name = text.rpartition("@")
        if not (path and at and name):
            raise SavepointError(
                f"{text!r} does not name a savepoint", hint="write <checkpoint>@<savepoint>."
            )
        return cls(path, name)

    def __str__(self) -> str:
        """Return `checkpoint@savepoint`."""
        return f"{home_of(self.checkpoint)}@{self.savepoint}"

    def load(self) -> tuple[Savepoint, ObjectStore]:
        """Return the savepoint, and the durable log that has its objects.

        Raises:
            NoCheckpointError: There is no checkpoint.
            SavepointError: The checkpoint has no such savepoint.
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
    """Create a checkpoint that starts with a copy of a savepoint's state.

    The copy shares nothing with the original, which may keep running, be reset or be deleted. An
    app on the copy starts with the state of the savepoint, and reads from the offsets of that
    state. An interrupted fork leaves no checkpoint: call it again.

    Args:
        source: The savepoint to copy.
        target: The directory, URL or storage of the new checkpoint.
        app: The id of the new app.
        log: The durable log of the new app; None: in the new checkpoint.

    Raises:
        InvalidNameError: The app id cannot name a directory.
        SavepointError: The savepoint does not exist, or `target` already has a checkpoint.
        StateCorruptError: An object of the savepoint is damaged.
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
    """Create the checkpoint of `fork` under a lock that the caller holds.

    The caller has checked that `target` has no checkpoint. Leftovers of an interrupted fork are
    removed from the given durable log. Raises `StateCorruptError` if `target` has other parts of a
    checkpoint.
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
        checkpoint_id=uuid4().hex[:12],
        epoch_numbers={},
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
    """Store the checkpoint id of the fork before its first object, for cleanup after a crash."""
    document = seal({"app": made.app, STORED_NAMES["checkpoint_id"]: made.checkpoint_id}, _NOTE)
    made.home.note_fork(document.data)


def _remove_half(target: CheckpointHome, app: str, objects: ObjectStore) -> None:
    """Delete the objects of an interrupted fork, by the checkpoint id in its note."""
    note, place = target.fork_note(), f"{target}/{_NOTE}"
    if note is None:
        return
    half_app, epoch = read_document(
        note,
        _NOTE,
        lambda fields, _: (fields.text("app"), fields.text(STORED_NAMES["checkpoint_id"])),
        what=f"{place!r}, which describes a fork in progress,",
        hint="remove it, if there is no app at this place, and make the fork again.",
        sealed=True,
    )
    if half_app != app:
        raise StateCorruptError(
            f"{place} has an interrupted fork to app {half_app!r}, not to {app!r}",
            hint=f"fork to another place, or continue the fork with app {half_app!r}.",
        )
    objects.delete(list(epoch_objects(objects, app, check_checkpoint_id(epoch, repr(place)))))
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
    """Copy the state of a query's tasks; return the first commit of the fork's query.

    Args:
        source: The durable log of the original app.
        target: The durable log of the fork.
        made: The checkpoint of the fork.
        query: The name of the query.
        commit: The query's commit in the savepoint.
        offsets: Whether the fork starts at the offsets of the state.
    """
    tasks = {
        task: copied_state(
            source, target, pointer, made.task_key(query, task), offsets=offsets
        ).to_json()
        for task, pointer in commit.pointers().items()
    }
    loops = copy_loops(source, target, loops_prefix(made.state_name(query), _FORKED), commit.loops)
    return Commit(
        SEED,
        made.checkpoint_id,
        commit.wall_ms,
        tasks,
        positions=positions_after(commit) if offsets else {},
        fingerprint=commit.fingerprint,
        loops=loops,
        totals=Totals.of_waiting(rows_by_loop(loops)),
    )
