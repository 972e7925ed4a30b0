"""The state of a task besides its stores, which is part of the task's pointer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.ids import TopicPartition, parse_keys, text_keys

__all__ = ("CANCELLED", "NO_TIME", "TaskMeta")

NO_TIME = -1
"""The stream time before the first record."""

CANCELLED = -1
"""The due time of a cancelled punctuator."""


@dataclass
class TaskMeta:
    """Stream time, positions and schedules of a task.

    Attributes:
        stream_time: The highest timestamp so far, ms since the epoch; `NO_TIME` before the first
            record.
        next_offsets: The first unprocessed offset of each partition.
        due: By punctuator, the next time at which it fires, ms, or `CANCELLED`.
        changelogs: By store, the topic that has all of its rows, and the offset at which they
            begin.
        changelog_ids: By store, the id of its changelog topic, if topics have ids.
        last_record_wall_ms: The wall time, ms, of the last batch with records, or up to which
            idleness has advanced stream time; None if the task has no idle timeout.
        closed: By node, the stream time, ms, up to which it has closed windows early.
        partition_times: The highest valid event time of each partition, for sources that use it
            instead of invalid times.
        passed: By limit, the number of records that have passed it in this task.
    """

    stream_time: int = NO_TIME
    next_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    changelogs: dict[str, tuple[str, int]] = field(default_factory=dict)
    changelog_ids: dict[str, str] = field(default_factory=dict)
    last_record_wall_ms: int | None = None
    closed: dict[str, int] = field(default_factory=dict)
    partition_times: dict[TopicPartition, int] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return a copy as plain data for JSON, without empty optional fields."""
        optional = {
            "logs": {store: list(log) for store, log in self.changelogs.items()} or None,
            "log_ids": dict(self.changelog_ids) or None,
            "heard": self.last_record_wall_ms,
            "closed": dict(self.closed) or None,
            "times": text_keys(self.partition_times) or None,
            "passed": dict(self.passed) or None,
        }
        return {
            "time": self.stream_time,
            "next": text_keys(self.next_offsets),
            "due": dict(self.due),
            **{name: found for name, found in optional.items() if found is not None},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TaskMeta:
        """Parse the result of `to_json`; an empty dict is a new task."""
        logs = {store: (topic, offset) for store, (topic, offset) in data.get("logs", {}).items()}
        return cls(
            data.get("time", NO_TIME),
            parse_keys(TopicPartition, data.get("next", {})),
            dict(data.get("due", {})),
            logs,
            dict(data.get("log_ids", {})),
            data.get("heard"),
            dict(data.get("closed", {})),
            parse_keys(TopicPartition, data.get("times", {})),
            dict(data.get("passed", {})),
        )
