"""The driver's log of committed batches: the truth about versions, for everyone else.

One immutable JSON object a batch, created only if it is absent, so that of two drivers
one wins. Views, repairs after a crash and clean-up start from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kstreams.errors import FencedError, ObjectMissingError, StateCorruptError
from kstreams.state.objects import ObjectStore
from kstreams.state.pointer import Pointer

__all__ = ("SEED", "Commit", "CommitLog", "Output")

SEED = -1
"""The batch of a commit that stands before all batches: a fork's or an upgrade's state."""


@dataclass(frozen=True)
class Output:
    """Rows that a task staged for a topic, made visible after the commit."""

    topic: str
    partition: int
    staged: str
    producer: str


@dataclass(frozen=True)
class Commit:
    """One committed batch.

    Attributes:
        batch: Spark's batch id; `SEED` for what a query begins with.
        run: Id of the driver that committed it.
        wall_ms: When, ms since the epoch, by the app's clock.
        tasks: Pointer of every task that exists, as JSON text, by `group/partition`.
        outputs: What is to be published.
        positions: By `topic/partition`, where reading goes on after it; a task's own
            pointer knows better, where it has one.
        fingerprint: `Topology.fingerprint` of what wrote it.
    """

    batch: int
    run: str
    wall_ms: int
    tasks: Mapping[str, str]
    outputs: tuple[Output, ...] = field(default=())
    positions: Mapping[str, int] = field(default_factory=dict)
    fingerprint: str = ""

    def pointers(self) -> dict[str, Pointer]:
        """Return the pointer of every task, by `group/partition`."""
        return {task: Pointer.from_json(text) for task, text in self.tasks.items()}

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "tasks": dict(self.tasks), "positions": dict(self.positions)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Commit:
        """Read what `to_json` returned."""
        outputs = tuple(Output(**output) for output in data["outputs"])
        return cls(**{**data, "outputs": outputs})


class CommitLog:
    """Commits of one query, below a prefix of an object store.

    Attributes:
        prefix: What the names of its objects begin with, slash included.
    """

    def __init__(self, objects: ObjectStore, prefix: str) -> None:
        self._objects = objects
        self.prefix = prefix.rstrip("/") + "/"

    def batches(self) -> list[int]:
        """Return the ids of all batches that are retained, rising."""
        return [self._batch(name) for name in self._objects.list(self.prefix)]

    def last(self) -> Commit | None:
        """Return the newest commit, or None before the first.

        Raises:
            StateCorruptError: It cannot be read.
        """
        names = list(self._objects.list(self.prefix))
        return self._read(names[-1]) if names else None

    def at(self, batch: int) -> Commit:
        """Return the commit of a batch.

        Raises:
            ObjectMissingError: It is not retained, or has never been.
            StateCorruptError: It cannot be read.
        """
        return self._read(self._name(batch))

    def recent(self, count: int) -> tuple[Commit, ...]:
        """Return the newest commits, oldest first."""
        names = list(self._objects.list(self.prefix))[-count:]
        return tuple(self._read(name) for name in names)

    def all(self) -> Iterator[Commit]:
        """Yield all retained commits, oldest first; one that is forgotten meanwhile is not."""
        for name in list(self._objects.list(self.prefix)):
            try:
                yield self._read(name)
            except ObjectMissingError:
                continue

    def append(self, commit: Commit) -> None:
        """Add a commit, durably.

        Raises:
            FencedError: Another driver has committed this batch.
        """
        body = json.dumps(commit.to_json(), separators=(",", ":")).encode()
        name = self._name(commit.batch)
        if self._objects.put_if_absent(name, body):
            return
        other = self._read(name)
        if other.run != commit.run:
            raise FencedError(
                f"batch {commit.batch} was committed by another driver (run {other.run})",
                hint="two apps run on one checkpoint; stop one of them",
            )

    def forget_before(self, batch: int) -> None:
        """Delete commits of batches before one."""
        names = list(self._objects.list(self.prefix))
        self._objects.delete(name for name in names if self._batch(name) < batch)

    def _name(self, batch: int) -> str:
        return f"{self.prefix}{batch:020d}.json"

    def _batch(self, name: str) -> int:
        return int(name[len(self.prefix) :].partition(".")[0])

    def _read(self, name: str) -> Commit:
        try:
            return Commit.from_json(json.loads(self._objects.get(name)))
        except ObjectMissingError:
            raise
        except (ValueError, TypeError, KeyError) as exc:
            raise StateCorruptError(
                f"commit {name!r} cannot be read: {exc}",
                hint="restore the checkpoint directory from a copy, or reset the app",
            ) from exc
