"""The targets of a reset, and the working copies of an app's state on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from kstreams.state.backend.working import StateBackend
from kstreams.state.versions.local import local_home, local_parts

__all__ = (
    "Leftover",
    "Survey",
    "delete_tree",
    "local_leftovers",
    "measured",
    "not_again",
    "remove_local",
)


@dataclass(frozen=True)
class Leftover:
    """A directory that a reset removes, with the size in bytes and the number of its files."""

    path: Path
    size_bytes: int
    files: int


@dataclass(frozen=True)
class Survey:
    """The targets of a reset.

    Attributes:
        app_id: The app id.
        checkpoint: The checkpoint directory with offsets, commits and durable state. None if only
            the remains of an interrupted reset are left, and for object storage.
        local: The working copies of the state on this machine.
        interrupted: The remains of interrupted resets.
        objects: The number of objects in a separate durable log or in a checkpoint in object
            storage.
        savepoints: The names of the removed savepoints.
        not_again: A sentence for each source that the app cannot read again from its start,
            because the source deletes committed data.
    """

    app_id: str
    checkpoint: Leftover | None
    local: tuple[Leftover, ...]
    interrupted: tuple[Leftover, ...]
    objects: int = 0
    savepoints: tuple[str, ...] = ()
    not_again: tuple[str, ...] = ()

    @property
    def leftovers(self) -> tuple[Leftover, ...]:
        """All directories that are removed, the checkpoint first."""
        first = () if self.checkpoint is None else (self.checkpoint,)
        return (*first, *self.local, *self.interrupted)


def not_again(commit_effects: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each source that deletes committed data.

    Args:
        commit_effects: `Checkpoint.commit_effects`: the effect of commits, by source.
    """
    return tuple(
        f"Source {source!r} does not read its committed records again: {becomes} when they are "
        f"committed. The next run starts after these records."
        for source, becomes in sorted(commit_effects.items())
    )


def local_leftovers(
    app_id: str, epochs: Iterable[str], state: StateBackend | None
) -> tuple[Leftover, ...]:
    """Return the working directories for these checkpoint ids of an app on this machine."""
    homes = {epoch: local_home(state, app_id, epoch) for epoch in epochs}
    return tuple(
        measured(home, *local_parts(home, app_id, epoch))
        for epoch, home in homes.items()
        if home.is_dir() and not home.is_symlink()
    )


def remove_local(
    app_id: str, found: Iterable[Leftover], epochs: Iterable[str], state: StateBackend | None
) -> None:
    """Remove the directories that `local_leftovers` returned, and parents that become empty."""
    for leftover in found:
        for part in local_parts(leftover.path, app_id, leftover.path.name):
            delete_tree(part)
    for epoch in epochs:
        home = local_home(state, app_id, epoch)
        _remove_if_empty(home)
        _remove_if_empty(home.parent)


def measured(path: Path, *parts: Path) -> Leftover:
    """Return the directory `path` with the size and number of the files in its `parts`."""
    size = count = 0
    for folder, _, files in chain.from_iterable(map(os.walk, parts)):
        for name in files:
            try:
                size += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118  # many files
            except FileNotFoundError:
                continue
            count += 1
    return Leftover(path, size, count)


def delete_tree(path: Path) -> None:
    """Remove a directory with its contents; a missing directory is no error."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        if path.exists():  # something in it went away in between
            shutil.rmtree(path)


def _remove_if_empty(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:
        return
