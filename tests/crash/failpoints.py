"""The named moments, in the order in which a batch comes to them."""

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
    """One moment.

    Attributes:
        name: What to call it.
        event: The event of `Faults` that it is.
        nth: At which of these events.
        after: Another event that has come before it, in a thread beside.
        dies: What is killed there; `nobody` where only a reply is lost.
        does: What is going on: a batch, or what needs an order of its own.
        cold: Whether local state is lost before, so that it must be restored.
        upkeep: When deltas are merged and snapshots made.
        in_memory: Whether the backend in memory comes to it.
        on_s3: Whether it matters what kind of object store there is.
        max_bytes: How many bytes a batch may have.
        ahead: Whether records wait when a batch is committed, so that the next is planned beside.
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


POINTS = (
    # A task begins.
    Point("old-version-half-removed", "amid remove attempt", in_memory=False, on_s3=False),
    Point("version-half-branched", "amid branch", on_s3=False),
    Point("half-restored", "after write restored", cold=True),
    Point("restored-and-not-named", "after close restored", cold=True),
    Point("amid-records", "process", nth=3, on_s3=False),
    # It commits: the delta and the working store are written side by side.
    Point("before-the-delta", "before put delta"),
    Point("amid-the-delta", "amid put delta"),
    Point("delta-and-no-local-write", "before write attempt", after="after put delta"),
    Point("local-write-and-no-delta", "before put delta", after="after close attempt"),
    Point("local-write-not-closed", "before close attempt", on_s3=False),
    Point("closed-and-not-named", "after close attempt", after="after put delta"),
    Point("reply-of-delta-lost", "lost reply of put delta", dies="nobody"),
    Point("amid-a-merger", "amid put run", upkeep=_MERGES),
    Point("merger-and-no-pointer", "after put run", upkeep=_MERGES),
    Point(
        "merger-that-nobody-names",
        "before put delta",
        nth=3,
        after="after put run",
        upkeep=_MERGES,
        on_s3=False,
    ),
    Point(
        "merger-named-and-not-committed",
        "before put commit",
        nth=2,
        after="after put run",
        dies="driver",
        upkeep=_MERGES,
        on_s3=False,
    ),
    Point("version-named-and-not-told", "version named", on_s3=False),
    Point("amid-a-snapshot", "before put chunk", nth=2),
    Point("snapshot-that-nobody-names", "before remove snapshot"),
    Point("all-told-and-no-answer", "task told", on_s3=False),
    # The driver plans a batch smaller that a task has refused.
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
    # Beside the commit it plans the next batch, where the checkpoint is far away.
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
    # It cleans up.
    Point("amid-forgetting-commits", "amid delete commit", dies="driver"),
    Point("commits-forgotten-objects-not", "after delete commit", dies="driver"),
    Point("amid-collecting-objects", "amid delete delta", dies="driver"),
    # Others look on.
    Point("savepoint-not-confirmed", "after put savepoint", dies="driver", does="savepoint"),
    Point("amid-a-fork", "after put of any object", nth=2, dies="driver", does="fork"),
)
