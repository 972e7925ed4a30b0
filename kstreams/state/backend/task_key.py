"""Which task a piece of state belongs to, and how its objects and directories are named."""

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
    "table_copies",
)


@dataclass(frozen=True)
class TaskKey:
    """One task of an app: a partition group at one partition.

    Args:
        app: Name of the app; any text.
        group: Name or number of the partition group; any text.
        partition: Number of the partition.
    """

    app: str
    group: str
    partition: int

    def __str__(self) -> str:
        return f"{self.app}/{self.group}/{self.partition}"

    @cached_property
    def prefix(self) -> str:
        """Return what the names of all objects of this task begin with, slash included.

        The two hex digits spread the tasks of an app over an object store's partitions.
        """
        task = f"{_quoted(self.group)}/{self.partition}"
        return f"{app_prefix(self.app)}{sha256(task.encode()).hexdigest()[:2]}/{task}/"

    @cached_property
    def local(self) -> Path:
        """Return the task's directory below the local home."""
        return Path(_quoted(self.app), _quoted(self.group), str(self.partition))


def app_prefix(app: str) -> str:
    """Return what the names of all objects of an app begin with, slash included."""
    return f"{_quoted(app)}/"


def garbage_prefix(app: str) -> str:
    """Return what the notes of an app's garbage collection begin with; no task is named so."""
    return f"{app_prefix(app)}garbage/"


def loops_prefix(app: str, epoch: str = "") -> str:
    """Return what objects with an app's loop records begin with; no task is named so.

    Args:
        app: Name of the app, as `TaskKey.app`.
        epoch: Id of the batches that wrote them; of any by default.
    """
    return f"{app_prefix(app)}loops/" + (f"{_quoted(epoch)}/" if epoch else "")


def table_copies(app: str, incarnation: str) -> Path:
    """Return an app's directory of copies of global tables, below the local home.

    Named as the state of a query without a name, which there is not.
    """
    return Path(_quoted(f"{app}.{incarnation}."))


def new_attempt() -> str:
    """Return a name that no other attempt has: 32 hex digits."""
    return uuid4().hex


def _quoted(text: str) -> str:
    name = quote(text, safe="")
    return name.replace(".", "%2E") if name.startswith(".") else name or "%00"
