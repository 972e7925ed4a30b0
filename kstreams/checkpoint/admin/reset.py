"""Reset an app: remove its checkpoint and its local state, all or nothing.

Needs neither a JVM nor the topology. Read `reset` first; `survey` lists its targets.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from uuid import uuid4

from kstreams.checkpoint.admin.object_reset import reset_objects, survey_objects
from kstreams.checkpoint.admin.reset_targets import (
    Survey,
    delete_tree,
    local_leftovers,
    measured,
    not_again,
    remove_local,
)
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.app_objects import epoch_objects
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.directory_home import DESCRIPTION, ENTRIES, DirectoryHome
from kstreams.checkpoint.storage.lock import CheckpointLock
from kstreams.checkpoint.storage.named_home import CheckpointName, app_home
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.errors import (
    CheckpointMismatchError,
    ExecutionError,
    NoCheckpointError,
    StateCorruptError,
)
from kstreams.files import sync_directory
from kstreams.names import check_incarnation
from kstreams.state.backend.working import StateBackend

__all__ = ("reset", "survey")

_LOG = logging.getLogger(__name__)
_BARE = re.compile(
    r"lock|telemetry|\.app-[0-9a-f]+\.json|\.probe-[0-9a-f]+|\.nfs[0-9a-f]+|\.DS_Store"
)
"""Names that an unfinished checkpoint or the operating system may leave in a checkpoint directory.
"""


def survey(
    app_id: str, *, checkpoint: CheckpointName | None = None, state: StateBackend | None = None
) -> Survey:
    """Return the targets of `reset` without removing them.

    Args:
        app_id: The app id.
        checkpoint: The checkpoint; `.kstreams/<app_id>` by default, as for `App`.
        state: The backend of the app, if it has its own directory or durable log.

    Raises:
        NoCheckpointError: There is nothing to remove.
        CheckpointMismatchError: The directory belongs to another app, is not a checkpoint, or has
            other files.
        InvalidNameError: The description names objects outside of the checkpoint.
        AppLockedError: An app runs on the checkpoint; stop it first.
        StoreError: The durable log cannot be reached.
    """
    home = app_home(app_id, checkpoint)
    if isinstance(home, ObjectHome):
        return survey_objects(app_id, home, state)
    path = home.path
    leftovers = tuple(_interrupted(app_id, path))
    if path.is_symlink():
        raise CheckpointMismatchError(
            f"{path} is a symbolic link, and a reset follows none",
            hint=f"nothing was removed; name the directory itself: {str(path.resolve())!r}.",
        )
    if path.exists():
        _check(app_id, path, state)
        lock = CheckpointLock(path)
        lock.acquire()
        lock.release()
    elif not leftovers:
        raise _missing(app_id, path)
    places = (path, *leftovers) if path.exists() else leftovers
    return Survey(
        app_id,
        measured(path, path) if path.exists() else None,
        local_leftovers(app_id, _epochs(places), state),
        tuple(measured(path, path) for path in leftovers),
        sum(1 for _ in _objects(app_id, places, state)),
        tuple(_savepoints(places, state)),
        not_again(
            {source: what for each in _loaded(places) for source, what in each.lets_go.items()}
        ),
    )


def reset(
    app_id: str,
    *,
    checkpoint: CheckpointName | None = None,
    state: StateBackend | None = None,
    tell: Callable[[str], object] = _LOG.warning,
) -> Survey:
    """Remove the checkpoint of an app and its working state on this machine.

    The app then starts fresh: it reads its input from the start of each source, except data that
    the source has deleted (files, changes of a replication slot), which is reported. Output topics
    stay. The checkpoint is renamed in one step before anything in it is deleted: an interrupted
    reset leaves either the whole checkpoint or none, and the next reset removes the rest. Objects
    of a separate durable log are removed if `state` names the log (`RocksDB(log=S3(...))`): only
    those of this checkpoint id. Links are removed, not followed.

    Object storage has no rename: there the description first marks the app as removed, and the next
    reset or start finishes an interrupted reset. A plan or two of each query, which keep a running
    driver from continuing, stay until the next reset.

    Args:
        app_id: The app id.
        checkpoint: The checkpoint; `.kstreams/<app_id>` by default, as for `App`.
        state: The backend of the app, if it has its own directory or durable log.
        tell: Called with a sentence for each source whose deleted input is not read again, before
            anything is removed; by default a warning of this module's logger.

    Returns:
        The removed targets, with these sentences in `not_again`.

    Raises:
        NoCheckpointError: There is nothing to remove.
        CheckpointMismatchError: The directory belongs to another app, is not a checkpoint, or has
            other files.
        InvalidNameError: The description names objects outside of the checkpoint.
        AppLockedError: An app runs on the checkpoint; stop it first.
        ExecutionError: The disk rejects the removal; try again later.
        StoreError: The durable log rejects the removal.

    Source: Kafka's `kafka-streams-application-reset.sh` with `KafkaStreams#cleanUp`; there are no
    internal topics to delete here.
    """
    found = survey(app_id, checkpoint=checkpoint, state=state)
    for sentence in found.not_again:
        tell(sentence)
    home = app_home(app_id, checkpoint)
    if isinstance(home, ObjectHome):
        reset_objects(found, home, state)
        return found
    path = home.path
    try:
        if found.checkpoint is None:
            _remove(found, state)
            return found
        lock = CheckpointLock(path)
        lock.acquire()
        try:
            aside = path.with_name(f".{path.name}.reset-{uuid4().hex[:12]}")
            path.rename(aside)
            sync_directory(path.parent)
            _remove(found, state, aside)
        finally:
            lock.release()
    except OSError as exc:
        raise ExecutionError(
            f"cannot remove {exc.filename or path}: {exc.strerror}",
            hint="the next reset removes the remaining files.",
        ) from exc
    return found


def _missing(app_id: str, path: Path) -> NoCheckpointError:
    siblings = sorted(file.parent.name for file in path.parent.glob(f"*/{DESCRIPTION}"))
    near = get_close_matches(path.name, siblings, n=1)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif siblings:
        hint = f"there are: {', '.join(siblings[:10])}."
    else:
        hint = "name its directory with `checkpoint` if it is not below .kstreams/."
    return NoCheckpointError(f"app {app_id!r} has no checkpoint at {path}", hint=hint)


def _check(app_id: str, path: Path, state: StateBackend | None) -> None:
    """Raise an error unless the path is the checkpoint of this app."""
    if not path.is_dir():
        raise CheckpointMismatchError(f"{path} is no directory")
    names = sorted(p.name for p in path.iterdir())
    if DESCRIPTION not in names:
        strange = [name for name in names if not _BARE.fullmatch(name)]
        if strange:
            raise CheckpointMismatchError(
                f"{path} is no checkpoint: it has {_listed(strange)}, but no {DESCRIPTION}",
                hint="nothing was removed; delete the directory yourself if you are sure.",
            )
        return
    owner = _described(path).get("app")
    if owner != app_id:
        raise CheckpointMismatchError(
            f"checkpoint {str(path)!r} belongs to app {owner!r}, not to {app_id!r}",
            hint=f"reset {owner!r}, or name the directory of {app_id!r} with `checkpoint`.",
        )
    known = {*ENTRIES, *_local_below(path, state)}
    strange = [name for name in names if name not in known and not _BARE.fullmatch(name)]
    if strange:
        raise CheckpointMismatchError(
            f"{path} has more in it than the checkpoint of {app_id!r}: {_listed(strange)}",
            hint="nothing was removed; move that elsewhere, or delete it yourself.",
        )


def _local_below(path: Path, state: StateBackend | None) -> tuple[str, ...]:
    """Return the entry of a checkpoint that leads to working copies, if they are in it."""
    directory = None if state is None else state.directory
    if directory is None or not (place := Path(directory).absolute()).is_relative_to(path):
        return ()
    return place.relative_to(path).parts[:1]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _described(path: Path) -> dict[str, object]:
    try:
        described = DirectoryHome(path).description()
        found = None if described is None else json.loads(described.data)
    except (OSError, ValueError, RecursionError, StateCorruptError):
        return {}
    return found if isinstance(found, dict) else {}


def _interrupted(app_id: str, path: Path) -> Iterator[Path]:
    """Yield the remains of interrupted resets of this app."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.reset-[0-9a-f]{{12}}")
    for found in sorted(path.parent.iterdir()) if path.parent.is_dir() else ():
        if not pattern.fullmatch(found.name) or found.is_symlink() or not found.is_dir():
            continue
        if (found / DESCRIPTION).exists():
            is_own = _described(found).get("app") == app_id
        else:
            is_own = all(_BARE.fullmatch(entry.name) for entry in found.iterdir())
        if is_own:
            yield found


def _epochs(checkpoints: tuple[Path, ...]) -> list[str]:
    return [
        check_incarnation(found["incarnation"], f"the description of checkpoint {str(path)!r}")
        for path in checkpoints
        if "incarnation" in (found := _described(path))
    ]


def _objects(
    app_id: str, checkpoints: tuple[Path, ...], state: StateBackend | None
) -> Iterator[str]:
    """Yield the objects of these checkpoint ids in a separate durable log."""
    if state is not None and state.log is not None:
        log = state.log.open()
        for epoch in _epochs(checkpoints):
            yield from epoch_objects(log, app_id, epoch)


def _savepoints(checkpoints: tuple[Path, ...], state: StateBackend | None) -> Iterator[str]:
    for found in _loaded(checkpoints):
        log = None if state is None else state.log
        yield from Savepoints(found, (log or found.log).open()).names()


def _loaded(checkpoints: tuple[Path, ...]) -> Iterator[Checkpoint]:
    for path in checkpoints:
        # one that was never finished, or of another version: it goes all the same
        with suppress(NoCheckpointError, CheckpointMismatchError, StateCorruptError):
            yield Checkpoint.load(DirectoryHome(path))


def _remove(found: Survey, state: StateBackend | None, *renamed: Path) -> None:
    """Delete objects and local state, then the checkpoint, whose description names them."""
    gone = (*renamed, *(leftover.path for leftover in found.interrupted))
    if state is not None and state.log is not None:
        state.log.open().delete(list(_objects(found.app_id, gone, state)))
    remove_local(found.app_id, found.local, _epochs(gone), state)
    for path in gone:
        for child in path.iterdir():
            if child.is_symlink():
                child.unlink()
            elif child.name != DESCRIPTION and child.is_dir():
                delete_tree(child)
        delete_tree(path)
