"""What a batch's tasks have staged in the durable log, to be published after its commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kstreams.state.log.fields import Fields
from kstreams.state.log.loop_objects import LoopPart, parts_from_json, parts_to_json

__all__ = ("Staged",)


@dataclass(frozen=True)
class Staged:
    """Output that waits in objects beside those of loops, until it is published in one step.

    Attributes:
        publisher: Id of whoever publishes it: of the query's batches, in their life.
        topic: One that the query reads, to which the number of what was published belongs.
        parts: What each task has staged, a sink's rows a part; in order within a task.
    """

    publisher: str = ""
    topic: str = ""
    parts: tuple[LoopPart, ...] = field(default=())

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        parts = parts_to_json(self.parts)
        return {"publisher": self.publisher, "topic": self.topic, "parts": parts}

    @classmethod
    def of(cls, publisher: str, topic: str, parts: Iterable[LoopPart]) -> Staged:
        """Return what tasks have staged; that of none has no publisher."""
        found = tuple(parts)
        return cls(publisher, topic, found) if found else cls()

    @classmethod
    def from_json(cls, data: object) -> Staged:
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
        fields = Fields(data)
        parts = parts_from_json(fields.items("parts"))
        return cls(fields.text("publisher"), fields.text("topic"), parts)
