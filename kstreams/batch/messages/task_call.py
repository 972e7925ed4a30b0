"""The call of a task in a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.checkpoint.planning.plans import Slice
from kstreams.state.log.fields import Fields
from kstreams.state.log.loop_objects import LoopPart, parts_from_json, parts_to_json
from kstreams.task.task_limits import Allowance
from kstreams.task.times.holding import Holding

__all__ = ("TaskCall",)


@dataclass(frozen=True)
class TaskCall:
    """One task's part of a batch, from the driver to a worker.

    Attributes:
        slices: The slices of topics to read, in order; empty for a task without topics, and for a
            call for wall-clock work only.
        wall_ms: The wall time of the batch, ms since the epoch; equal for all tasks of the batch.
        since_ms: Idleness before this wall time does not count, ms since the epoch.
        close_windows: Whether the task closes its open windows.
        pointer: The current version of the task's state, as JSON text; None before the first
            commit.
        required: Whether the task runs in any case; if False, it runs only if it gets records from
            other tasks.
        loops: The records in loops for the task, from the previous batch.
        holding: The rule for records that the task holds back for a later batch; None: it processes
            all records.
        limits: The number of records that the task may pass, including earlier batches, by `limit`
            node; only for nodes that run in several tasks.
    """

    slices: tuple[Slice, ...]
    wall_ms: int
    since_ms: int = 0
    close_windows: bool = False
    pointer: str | None = None
    required: bool = True
    loops: tuple[LoopPart, ...] = ()
    holding: Holding | None = None
    limits: Mapping[str, Allowance] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON-compatible data."""
        return {
            "slices": [each.to_json() for each in self.slices],
            "wall": self.wall_ms,
            "since": self.since_ms,
            "close": self.close_windows,
            "pointer": self.pointer,
            "required": self.required,
            "loops": parts_to_json(self.loops),
            "holding": None if self.holding is None else self.holding.to_json(),
            "limits": {node: each.to_json() for node, each in self.limits.items()},
        }

    @classmethod
    def from_json(cls, fields: Fields) -> TaskCall:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        return cls(
            tuple(map(Slice.from_json, fields.items("slices"))),
            fields.integer("wall"),
            fields.integer("since"),
            fields.flag("close"),
            None if fields.anything("pointer") is None else fields.text("pointer"),
            fields.flag("required"),
            parts_from_json(fields.items("loops")),
            None
            if (held := fields.anything("holding")) is None
            else Holding.from_json(Fields(held)),
            {node: Allowance.from_json(each) for node, each in fields.mapping("limits").items()},
        )
