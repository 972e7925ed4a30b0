"""What a worker says that does not read its part of a batch: it has too many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kstreams.ids import TopicPartition, text_keys

__all__ = ("Refusal",)


@dataclass(frozen=True)
class Refusal:
    """Tasks of one worker that were not run, since what they were to read is too large.

    Attributes:
        tasks: Stage number and task of each.
        sizes: Of each partition, how many offsets were read before, and their bytes.
    """

    tasks: tuple[tuple[int, int], ...]
    sizes: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"tasks": self.tasks, "sizes": text_keys(self.sizes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Refusal:
        """Read what `to_json` returned."""
        sizes = {
            TopicPartition.parse(place): (offsets, size)
            for place, (offsets, size) in data["sizes"].items()
        }
        return cls(tuple((stage, task) for stage, task in data["tasks"]), sizes)
