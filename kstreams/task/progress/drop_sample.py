"""Where a record came from that a node has dropped."""

from __future__ import annotations

from typing import NamedTuple

from kstreams.ids import TopicPartition
from kstreams.state.log.fields import checked_integer, checked_text

__all__ = ("DropSample", "RecordPlace")

RecordPlace = tuple[TopicPartition, int]
"""A partition, and an offset in it."""


class DropSample(NamedTuple):
    """One of the records that a node has dropped: its place, and nothing that is in it.

    Attributes:
        node: The node.
        reason: Why.
        place: The partition that it came from; of an edge, its name and the task that wrote.
        offset: Its offset there; on an edge, its number among those of that task.
    """

    node: str
    reason: str
    place: TopicPartition
    offset: int

    def to_json(self) -> list[object]:
        """Return plain data."""
        return [self.node, self.reason, str(self.place), self.offset]

    @classmethod
    def from_json(cls, data: object) -> DropSample:
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
        if not isinstance(data, list) or len(data) != len(cls._fields):
            raise ValueError("a record that was dropped is not four fields")
        node, reason, place = (checked_text(text, "a node, a reason, a place") for text in data[:3])
        offset = checked_integer(data[3], "an offset", least=-1)
        return cls(node, reason, TopicPartition.parse(place), offset)
