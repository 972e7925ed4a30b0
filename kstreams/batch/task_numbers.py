"""What a task tells of its work in a batch, for those who watch the app; it decides nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kstreams.batch.latency import Ages
from kstreams.state.log.fields import Fields
from kstreams.task.progress.drop_sample import DropSample

__all__ = ("TaskNumbers", "worker_name")


@dataclass(frozen=True)
class TaskNumbers:
    """One task's numbers of a batch.

    Attributes:
        busy_us: Microseconds by phase, of `kstreams.batch.worker_times.TASK_PHASES`.
        nodes_us: The same by node, as far as samples tell; what was no node's is under "".
        worker: Where it ran: machine and process.
        began_ms: When it began to read, by the worker's clock, ms since the epoch.
        attempt: How often Spark has tried it, this time included.
        restored: Whether its state was restored from the durable log.
        rows: How many rows each store had before the batch, in some backends about.
        ages: Of the records that it has read from topics.
        samples: Where a few of those came from that it has dropped.
    """

    busy_us: Mapping[str, int] = field(default_factory=dict)
    nodes_us: Mapping[str, int] = field(default_factory=dict)
    worker: str = ""
    began_ms: int = 0
    attempt: int = 1
    restored: bool = False
    rows: Mapping[str, int] = field(default_factory=dict)
    ages: Ages = field(default_factory=Ages)
    samples: tuple[DropSample, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "busy": dict(self.busy_us),
            "nodes": dict(self.nodes_us),
            "worker": self.worker,
            "began": self.began_ms,
            "attempt": self.attempt,
            "restored": self.restored,
            "rows": dict(self.rows),
            "ages": self.ages.to_json(),
            "samples": [sample.to_json() for sample in self.samples],
        }

    @classmethod
    def from_json(cls, data: object) -> TaskNumbers:
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
        fields = Fields(data)
        return cls(
            fields.integers("busy"),
            fields.integers("nodes"),
            fields.text("worker"),
            fields.integer("began"),
            fields.integer("attempt"),
            fields.flag("restored"),
            fields.integers("rows"),
            Ages.from_json(fields.anything("ages")),
            tuple(map(DropSample.from_json, fields.items("samples"))),
        )


@cache
def worker_name() -> str:
    """Return machine and process of this worker."""
    return f"{socket.gethostname()}/{os.getpid()}"
