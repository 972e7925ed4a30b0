"""One committed version of a store, with the partitions read so far."""

from __future__ import annotations

from typing import Generic

from kstreams.state.log.commits import Commit
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.spec import S
from kstreams.views.layered_copy import State

__all__ = ("Version",)


class Version(Generic[S]):
    """One committed version of a store, with the states of the partitions read so far.

    Args:
        commit: The commit; None before the first commit.
        group: The partition group that owns the store.
    """

    def __init__(self, commit: Commit | None, group: str) -> None:
        self.commit = commit
        self.pointers: dict[int, Pointer] = {}
        self.states: dict[int, State[S]] = {}
        for task, pointer in ({} if commit is None else commit.pointers()).items():
            if task.group == group:
                self.pointers[task.partition] = pointer

    @property
    def batch(self) -> int | None:
        """The batch of the version; None before the first commit."""
        return None if self.commit is None else self.commit.batch

    @property
    def state_bytes(self) -> int:
        """The size of the group's state in the durable log, in bytes."""
        return sum(p.snapshot_bytes + p.delta_bytes for p in self.pointers.values())

    @property
    def wall_ms(self) -> int | None:
        """Time of the commit by the app's clock, ms since the epoch; None before any commit."""
        return None if self.commit is None else self.commit.wall_ms
