"""The staged output of a batch's tasks in the durable log, to publish after its commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kstreams.state.log.fields import Fields
from kstreams.state.log.loop_objects import LoopPart, parts_from_json, parts_to_json

__all__ = ("Staged",)


@dataclass(frozen=True)
class Staged:
    """The staged output of a batch in objects of the durable log, to publish in one transaction.

    Attributes:
        publisher: The id of the query's publisher in its current epoch.
        topic: A topic of the query; its committed offsets record the last published batch.
        parts: The staged rows, one part for each task and sink; the parts of a task are in order.
    """

    publisher: str = ""
    topic: str = ""
    parts: tuple[LoopPart, ...] = field(default=())

    def __bool__(self) -> bool:
        """Return whether there is staged output."""
        return bool(self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        parts = parts_to_json(self.parts)
        return {"publisher": self.publisher, "topic": self.topic, "parts": parts}

    @classmethod
    def of(cls, publisher: str, topic: str, parts: Iterable[LoopPart]) -> Staged:
        """Return the staged output of tasks; empty output has no publisher."""
        found = tuple(parts)
        return cls(publisher, topic, found) if found else cls()

    @classmethod
    def from_json(cls, data: object) -> Staged:
        """Parse the result of `to_json`; raises `ValueError` if the data is invalid."""
        fields = Fields(data)
        parts = parts_from_json(fields.items("parts"))
        return cls(fields.text("publisher"), fields.text("topic"), parts)
