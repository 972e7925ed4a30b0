"""The message of a worker that rejects its input because it has too many records or bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.batch.messages.task_status import ReadSizes, sizes_from_json, sizes_to_json
from kstreams.state.log.fields import Fields, checked_integer

__all__ = ("Counts", "Refusal", "merged_counts")

Counts = Mapping[str, Mapping[int, int]]
"""The number of records by limit, then by task."""


@dataclass(frozen=True)
class Refusal:
    """Tasks of one worker that did not run, or whose results must be discarded.

    Attributes:
        tasks: The stage number and the task of each task with too many bytes of input.
        sizes: The number of read offsets and bytes of each partition.
        arrived: By `limit` node and task, the number of records that reached the node, for tasks in
            which more records reached it than it may pass.
    """

    tasks: tuple[tuple[int, int], ...]
    sizes: ReadSizes = field(default_factory=dict)
    arrived: Counts = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON-compatible data."""
        arrived = {node: list(tasks.items()) for node, tasks in self.arrived.items()}
        return {"tasks": self.tasks, "sizes": sizes_to_json(self.sizes), "arrived": arrived}

    @classmethod
    def from_json(cls, fields: Fields) -> Refusal:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        tasks = tuple(
            (checked_integer(stage, "a stage"), checked_integer(task, "a task"))
            for stage, task in fields.items("tasks")
        )
        limits = Fields(fields.mapping("arrived"))
        arrived = {
            node: {
                checked_integer(task, "a task"): checked_integer(count, "a count of records")
                for task, count in limits.items(node)
            }
            for node in limits.all()
        }
        return cls(tasks, sizes_from_json(fields.mapping("sizes")), arrived)


def merged_counts(counts: Iterable[tuple[int, Mapping[str, int]]]) -> dict[str, dict[int, int]]:
    """Convert record counts by task and `limit` node to counts by `limit` node and task.

    `counts` has pairs of a task and its record counts by `limit` node.
    """
    found: dict[str, dict[int, int]] = {}
    for task, numbers in counts:
        for node, count in numbers.items():
            found.setdefault(node, {})[task] = count
    return found
