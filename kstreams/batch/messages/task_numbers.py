"""The measurements of a task in a batch, for monitoring of the app; they do not change results."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kstreams.batch.messages.latency import Ages
from kstreams.state.log.fields import Fields
from kstreams.task.progress.drop_sample import DropSample

__all__ = ("TaskNumbers", "worker_name")


@dataclass(frozen=True)
class TaskNumbers:
    """The measurements of one task in a batch.

    Attributes:
        busy_us: Microseconds by phase of `kstreams.batch.messages.worker_times.TASK_PHASES`.
        nodes_us: Sampled microseconds by node; work outside of nodes has the name "".
        worker: The machine and process of the worker.
        began_ms: The start of reading by the worker's clock, ms since the epoch.
        attempt: The number of the Spark attempt.
        restored: Whether the state was restored from the durable log.
        rows: The number of rows of each store before the batch, approximate in some backends.
        ages: The ages of the records that were read from topics.
        samples: Samples of dropped records, with topic, partition and offset.
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
        """Return the numbers as JSON data."""
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
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
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
    """Return the name of this worker: its machine and process id."""
    return f"{socket.gethostname()}/{os.getpid()}"
