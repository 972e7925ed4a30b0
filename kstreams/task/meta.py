"""What a task remembers besides its stores; travels in the task's pointer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ("CANCELLED", "NO_TIME", "TaskMeta")

NO_TIME = -1
"""Stream time before any record."""

CANCELLED = -1
"""The due time of a cancelled punctuator."""


@dataclass
class TaskMeta:
    """Stream time, positions and schedules of a task.

    Attributes:
        stream_time: Highest timestamp seen, ms since the epoch; `NO_TIME` before any.
        next_offsets: By `topic/partition`, the first offset not processed yet.
        due: By punctuator, when it fires next (ms), or `CANCELLED`.
        changelogs: By store, the topic that has all of it, and the offset from which on.
    """

    stream_time: int = NO_TIME
    next_offsets: dict[str, int] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    changelogs: dict[str, tuple[str, int]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON, a copy."""
        found: dict[str, Any] = {
            "time": self.stream_time,
            "next": dict(self.next_offsets),
            "due": dict(self.due),
        }
        return (
            {**found, "logs": {s: list(log) for s, log in self.changelogs.items()}}
            if self.changelogs
            else found
        )

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TaskMeta:
        """Read what `to_json` returned; an empty dict is a fresh task."""
        logs = {store: (topic, offset) for store, (topic, offset) in data.get("logs", {}).items()}
        time = data.get("time", NO_TIME)
        return cls(time, dict(data.get("next", {})), dict(data.get("due", {})), logs)
