"""The points at which a crash test kills a process, in the order in which a batch reaches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kstreams.state.log.upkeep import Upkeep

__all__ = ("POINTS", "Point")

_SNAPSHOTS = Upkeep(max_deltas=3, chunk_bytes=200)
_MERGES = Upkeep(merge_count=3)
_HALF = 400
"""About half the bytes of a task's part of a batch."""


@dataclass(frozen=True)
class Point:
    """A point at which a process is killed.

    Attributes:
        name: Name in the ids of tests.
        event: The event of `Faults`.
        nth: The number of the event that kills, counted from 1.
        after: Another event that must have come before it, in a concurrent thread.
        dies: The part that is killed; `nobody` if only a reply is lost.
        does: The operation during which the point is reached.
        cold: Whether local state is lost before, so that it must be restored.
        upkeep: When deltas are merged and snapshots written.
        in_memory: Whether the in-memory backend reaches the point.
        on_s3: Whether the point depends on the kind of object store.
        max_bytes: Most bytes of a batch.
        ahead: Whether records are waiting during a commit, so that the next batch is planned
            concurrently.
        own_objects: Whether deltas, merged deltas and chunks have their own objects, as large ones
            have, instead of being parts of packs.
    """

    name: str
    event: str
    nth: int = 1
    after: str | None = None
    dies: Literal["task", "driver", "nobody"] = "task"
    does: Literal["batch", "savepoint", "fork"] = "batch"
    cold: bool = False
    upkeep: Upkeep = _SNAPSHOTS
    in_memory: bool = True
    on_s3: bool = True
    max_bytes: int = 1 << 28
    ahead: bool = False
    own_objects: bool = False

    @property
    def on_local_disk(self) -> bool:
        """Return whether the point is at a file of local state, which a resident state has not."""
        events = f"{self.event} {self.after}"
        return any(word in events for word in ("attempt", "branch", "restored", "remove", "named"))


POINTS = (
    # A task begins.
    Point("old-version-half-removed", "amid remove attempt", in_memory=False, on_s3=False),
    Point("version-half-branched", "amid branch", on_s3=False),
    Point("half-restored", "after write restored", cold=True),
    Point("restored-and-not-named", "after close restored", cold=True),
    Point("amid-records", "process", nth=3, on_s3=False),
    # The task commits: a delta with its own object and the working store are written concurrently.
    Point("before-the-delta", "before put delta", own_objects=True),
    Point("amid-the-delta", "amid put delta", own_objects=True),
    Point(
        "delta-and-no-local-write",
        "before write attempt",
        after="after put delta",
        own_objects=True,
    ),
    Point(
        "local-write-and-no-delta",
        "before put delta",
        after="after close attempt",
        own_objects=True,
    ),
    Point("local-write-not-closed", "before close attempt", on_s3=False),
    Point("closed-and-not-named", "after close attempt", after="after put delta", own_objects=True),
    Point("reply-of-delta-lost", "lost reply of put delta", dies="nobody", own_objects=True),
    Point("amid-a-merger", "amid put run", upkeep=_MERGES, own_objects=True),
    Point("merger-and-no-pointer", "after put run", upkeep=_MERGES, own_objects=True),
    Point(
        "merger-that-nobody-names",
        "before put delta",
        nth=3,
        after="after put run",
        upkeep=_MERGES,
        on_s3=False,
        own_objects=True,
    ),
    Point(
        "merger-named-and-not-committed",
        "before put commit",
        nth=2,
        after="after put run",
        dies="driver",
        upkeep=_MERGES,
        on_s3=False,
        own_objects=True,
    ),
    # The worker writes the small deltas of its tasks in one pack.
    Point("before-the-pack", "before put pack"),
    Point("amid-the-pack", "amid put pack"),
    Point("pack-and-no-pointer", "after put pack"),
    Point("reply-of-pack-lost", "lost reply of put pack", dies="nobody"),
    Point("merger-in-a-lost-pack", "before put pack", nth=4, upkeep=_MERGES),
    Point("pack-with-a-merger-not-told", "after put pack", nth=4, upkeep=_MERGES),
    Point("snapshot-in-a-lost-pack", "before put pack", nth=4),
    Point(
        "pack-with-a-merger-not-committed",
        "before put commit",
        nth=4,
        dies="driver",
        upkeep=_MERGES,
    ),
    Point("version-named-and-not-told", "version named", on_s3=False),
    Point("amid-a-snapshot", "before put chunk", nth=2, own_objects=True),
    Point("snapshot-that-nobody-names", "before remove snapshot"),
    Point("all-told-and-no-answer", "task told", on_s3=False),
    # The driver makes a batch smaller that a task has refused.
    Point(
        "refused-and-not-cut", "before replace plan", dies="driver", on_s3=False, max_bytes=_HALF
    ),
    Point("cut-and-not-run", "after replace plan", dies="driver", on_s3=False, max_bytes=_HALF),
    Point(
        "cut-run-and-no-commit",
        "before put commit",
        nth=2,
        dies="driver",
        on_s3=False,
        max_bytes=_HALF,
    ),
    # The driver commits.
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("committed-and-not-published", "after put commit", dies="driver"),
    Point("half-published", "published one", dies="driver", on_s3=False),
    Point("published-and-spark-not-told", "reported", dies="driver", on_s3=False),
    # The driver plans the next batch during the commit, where the checkpoint is remote.
    Point(
        "planned-ahead-and-no-commit",
        "before put commit",
        after="after put plan ahead",
        dies="driver",
        ahead=True,
    ),
    Point(
        "committed-and-not-planned-ahead",
        "before put plan ahead",
        after="after put commit",
        dies="driver",
        ahead=True,
    ),
    Point("amid-the-plan-ahead", "amid put plan ahead", dies="driver", ahead=True, on_s3=False),
    Point(
        "committed-planned-ahead-and-not-published",
        "after put plan ahead",
        after="after put commit",
        dies="driver",
        ahead=True,
    ),
    # The driver deletes old objects.
    Point("amid-forgetting-commits", "amid delete commit", dies="driver"),
    Point("commits-forgotten-objects-not", "after delete commit", dies="driver"),
    Point("amid-collecting-objects", "amid delete delta", dies="driver", own_objects=True),
    Point("amid-collecting-packs", "amid delete pack", dies="driver"),
    Point("packs-collected", "after delete pack", dies="driver"),
    # A savepoint or a fork reads the checkpoint.
    Point("savepoint-not-confirmed", "after put savepoint", dies="driver", does="savepoint"),
    Point("amid-a-fork", "after put of any object", nth=2, dies="driver", does="fork"),
)
