"""The key of a task's state, and the names of its objects and directories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

__all__ = (
    "TaskKey",
    "app_prefix",
    "garbage_prefix",
    "loops_prefix",
    "new_attempt",
    "packs_prefix",
    "table_copies",
)


@dataclass(frozen=True)
class TaskKey:
    """Identifies one task of an app, which processes one partition of a partition group.

    Args:
        app: The name of the app; any text.
        group: The name or number of the partition group; any text.
        partition: The number of the partition.
    """

    app: str
    group: str
    partition: int

    def __str__(self) -> str:
        return f"{self.app}/{self.group}/{self.partition}"

    @cached_property
    def prefix(self) -> str:
        """Return the name prefix of all objects of this task, including the slash.

        The two hex digits distribute the tasks of an app over the partitions of an object store.
        """
        task = f"{_quoted(self.group)}/{self.partition}"
        return f"{app_prefix(self.app)}{sha256(task.encode()).hexdigest()[:2]}/{task}/"

    @cached_property
    def local(self) -> Path:
        """Return the path of the task's directory, relative to the worker's state directory."""
        return Path(_quoted(self.app), _quoted(self.group), str(self.partition))


def app_prefix(app: str) -> str:
    """Return the name prefix of all objects of an app, including the slash."""
    return f"{_quoted(app)}/"


def garbage_prefix(app: str) -> str:
    """Return the name prefix of an app's garbage collection notes; no task uses this prefix."""
    return f"{app_prefix(app)}garbage/"


def loops_prefix(app: str, epoch: str = "") -> str:
    """Return the name prefix of an app's loop records; no task uses this prefix.

    Args:
        app: The app, as in `TaskKey.app`.
        epoch: The epoch of the records; all epochs by default.
    """
    return f"{app_prefix(app)}loops/" + (f"{_quoted(epoch)}/" if epoch else "")


def packs_prefix(app: str, epoch: str = "") -> str:
    """Return the name prefix of an app's packs; no task uses this prefix.

    Args:
        app: The app, as in `TaskKey.app`.
        epoch: The epoch of the packs; all epochs by default.
    """
    return f"{app_prefix(app)}packs/" + (f"{_quoted(epoch)}/" if epoch else "")


def table_copies(app: str, checkpoint_id: str) -> Path:
    """Return the directory for an app's copies of global tables, relative to the state directory.

    No query uses this directory: it belongs to an empty query name, and query names are not empty.
    """
    return Path(_quoted(f"{app}.{checkpoint_id}."))


def new_attempt() -> str:
    """Return a new, unique name of an attempt: 32 hex digits."""
    return uuid4().hex


def _quoted(text: str) -> str:
    name = quote(text, safe="")
    return name.replace(".", "%2E") if name.startswith(".") else name or "%00"
