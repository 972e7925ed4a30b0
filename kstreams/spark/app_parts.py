"""The objects that an app is made of, in addition to its settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from kstreams.batch.report import BatchReport
from kstreams.checkpoint.lock import Exclusion
from kstreams.clock import Clock
from kstreams.connection import Connection
from kstreams.graph.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ("AppParts",)


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
            output, in Spark's callback thread.
        spark: The session that the user has given, or None.
        run: Id of this driver.
        wanted: Set when a query wants a plan.
    """

    topology: Topology
    connection: Connection
    lock: Exclusion
    clock: Clock
    report: Callable[[BatchReport, Sequence[str]], None]
    spark: SparkSession | None = None
    run: str = field(default_factory=lambda: uuid4().hex[:12])
    wanted: threading.Event = field(default_factory=threading.Event)
