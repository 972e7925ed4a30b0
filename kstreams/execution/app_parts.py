"""The objects that the queries of an app share, in addition to its settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from kstreams.batch.report import BatchReport
from kstreams.checkpoint.storage.lock import Exclusion
from kstreams.clock import Clock
from kstreams.connection import Connection
from kstreams.execution.executor import Engine
from kstreams.graph.topology import Topology
from kstreams.telemetry.watching import Watchers

__all__ = ("AppParts", "new_run")


def new_run() -> str:
    """Return a new unique id for one run of an app."""
    return uuid4().hex[:12]


@dataclass(frozen=True)
class AppParts:
    """The topology, the connection and the objects that the queries of an app share.

    Attributes:
        topology: The topology that the app runs.
        connection: The connection of all topics.
        lock: The lock of the checkpoint; its `check` raises `FencedError` if a newer driver owns
            the checkpoint.
        clock: The clock for wall time.
        report: Called after each commit, in the thread of the query, with the report of the batch
            and the lines that its sinks print.
        engine: The engine that runs batches.
        run: The id of this run of the app.
        changed: Set when a query has committed a batch, or has failed.
        callers: The identifiers (`threading.get_ident`) of the queries' threads, which run batches
            and call `report` and `watchers`.
        watchers: The objects that are notified of the app's events, such as telemetry.
    """

    topology: Topology
    connection: Connection
    lock: Exclusion
    clock: Clock
    report: Callable[[BatchReport, Sequence[str]], None]
    engine: Engine
    run: str = field(default_factory=new_run)
    changed: threading.Event = field(default_factory=threading.Event)
    callers: set[int] = field(default_factory=set)
    watchers: Watchers = field(default_factory=Watchers)
