"""Reset an app whose checkpoint is a directory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from uuid import uuid4

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
from kstreams.errors import (
    CheckpointMismatchError,
    ExecutionError,
    NoCheckpointError,
    StateCorruptError,
)
from kstreams.files import sync_directory
from kstreams.names import check_checkpoint_id
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.stored_names import STORED_NAMES

__all__ = ("reset_directory", "survey_directory")

_BARE = re.compile(
    r"lock|telemetry|\.app-[0-9a-f]+\.json|\.probe-[0-9a-f]+|\.nfs[0-9a-f]+|\.DS_Store"
)
"""Names that an unfinished checkpoint or the operating system may leave in a checkpoint directory.
"""


def survey_directory(app_id: str, home: DirectoryHome, state: StateBackend | None) -> Survey:
    """Return the targets of `reset_directory`; see `kstreams_admin.reset.survey`."""
    path = home.path
    leftovers = tuple(_interrupted(app_id, path))
    if path.is_symlink():
        raise CheckpointMismatchError(
            f"{path} is a symbolic link, which a reset does not follow",
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
            {
                source: what
                for each in _loaded(places)
                for source, what in each.commit_effects.items()
            }
        ),
    )


def reset_directory(survey: Survey, home: DirectoryHome, state: StateBackend | None) -> None:
    """Remove the checkpoint directory of an app; see `kstreams_admin.reset.reset`.

    The directory is renamed first: from then on there is no checkpoint, and the next reset removes
    the rest.
    """
    path = home.path
    try:
        if survey.checkpoint is None:
            _remove(survey, state)
            return
        lock = CheckpointLock(path)
        lock.acquire()
        try:
            aside = path.with_name(f".{path.name}.reset-{uuid4().hex[:12]}")
            path.rename(aside)
            sync_directory(path.parent)
            _remove(survey, state, aside)
        finally:
            lock.release()
    except OSError as exc:
        raise ExecutionError(
            f"cannot remove {exc.filename or path}: {exc.strerror}",
            hint="the next reset removes the remaining files.",
        ) from exc


def _missing(app_id: str, path: Path) -> NoCheckpointError:
    siblings = sorted(file.parent.name for file in path.parent.glob(f"*/{DESCRIPTION}"))
    near = get_close_matches(path.name, siblings, n=1)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif siblings:
        hint = f"existing checkpoints: {', '.join(siblings[:10])}."
    else:
        hint = (
            "name the directory of the checkpoint with `checkpoint` if it is not below .kstreams/."
        )
    return NoCheckpointError(f"app {app_id!r} has no checkpoint at {path}", hint=hint)


def _check(app_id: str, path: Path, state: StateBackend | None) -> None:
    """Raise `CheckpointMismatchError` unless the path is a checkpoint of this app."""
    if not path.is_dir():
        raise CheckpointMismatchError(
            f"{path} is not a directory, so it cannot be the checkpoint of {app_id!r}"
        )
    names = sorted(p.name for p in path.iterdir())
    if DESCRIPTION not in names:
        strange = [name for name in names if not _BARE.fullmatch(name)]
        if strange:
            raise CheckpointMismatchError(
                f"{path} is not a checkpoint: it has {_listed(strange)}, but no {DESCRIPTION}",
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
            f"{path} has more entries than the checkpoint of {app_id!r}: {_listed(strange)}",
            hint="nothing was removed; move these entries elsewhere, or delete them yourself.",
        )


def _local_below(path: Path, state: StateBackend | None) -> tuple[str, ...]:
    """Return the name of the checkpoint's top-level subdirectory that contains the working copies.

    The result is a tuple of one name, empty if the working copies are outside of the checkpoint.
    """
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
    """Yield the directories that interrupted resets of this app have left near the checkpoint."""
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
        check_checkpoint_id(
            found[STORED_NAMES["checkpoint_id"]], f"the app description of checkpoint {str(path)!r}"
        )
        for path in checkpoints
        if STORED_NAMES["checkpoint_id"] in (found := _described(path))
    ]


def _objects(
    app_id: str, checkpoints: tuple[Path, ...], state: StateBackend | None
) -> Iterator[str]:
    """Yield the names of the checkpoints' objects in a separate durable log, if there is one."""
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
    """Delete objects and local state, then the checkpoint, which lists their names.

    Args:
        found: The targets of the reset.
        state: The backend of the app.
        renamed: The renamed directory of the checkpoint, if there is a checkpoint.
    """
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
