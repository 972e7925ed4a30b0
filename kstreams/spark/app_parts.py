"""The objects that an app is made of, in addition to its settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from kstreams.batch.report import BatchReport
from kstreams.checkpoint.storage.lock import Exclusion
from kstreams.clock import Clock
from kstreams.connection import Connection
from kstreams.graph.topology import Topology
from kstreams.telemetry.watching import Watchers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ("AppParts", "new_run")


def new_run() -> str:
    """Return an id for a driver, like that of no other."""
    return uuid4().hex[:12]


@dataclass(frozen=True)
class AppParts:
    """What runs, where, and the objects that its queries share. Only the driver has them.

    Attributes:
        topology: What to run.
        connection: Where all its topics are.
        lock: The checkpoint's; its `check` raises `FencedError` when a newer driver has taken
            the checkpoint.
        clock: Decides when wall-clock work is due.
        report: Called after each commit with the report and the lines that go to the standard
            output, in the query's thread.
        spark: The session that the user has given, or None.
        run: Id of this driver.
        wanted: Set when a query wants a plan.
        callers: Identities of the threads that run batches, and call `report` and `watchers`.
        watchers: Are told what the app does.
    """

    topology: Topology
    connection: Connection
    lock: Exclusion
    clock: Clock
    report: Callable[[BatchReport, Sequence[str]], None]
    spark: SparkSession | None = None
    run: str = field(default_factory=new_run)
    wanted: threading.Event = field(default_factory=threading.Event)
    callers: set[int] = field(default_factory=set)
    watchers: Watchers = field(default_factory=Watchers)
