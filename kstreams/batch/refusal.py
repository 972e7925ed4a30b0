"""What a worker says that does not read its part of a batch: it has too many bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kstreams.batch.task_status import ReadSizes, sizes_from_json, sizes_to_json
from kstreams.state.log.fields import Fields, checked_integer

__all__ = ("Refusal",)


@dataclass(frozen=True)
class Refusal:
    """Tasks of one worker that were not run, since what they were to read is too large.

    Attributes:
        tasks: Stage number and task of each.
        sizes: What was read of each partition before.
    """

    tasks: tuple[tuple[int, int], ...]
    sizes: ReadSizes = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"tasks": self.tasks, "sizes": sizes_to_json(self.sizes)}

    @classmethod
    def from_json(cls, fields: Fields) -> Refusal:
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
        tasks = tuple(
            (checked_integer(stage, "a stage"), checked_integer(task, "a task"))
            for stage, task in fields.items("tasks")
        )
        return cls(tasks, sizes_from_json(fields.mapping("sizes")))
