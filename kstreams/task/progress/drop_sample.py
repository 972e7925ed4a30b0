"""A sample of a dropped record: its partition and offset."""

from __future__ import annotations

from typing import NamedTuple

from kstreams.ids import TopicPartition
from kstreams.state.log.fields import checked_integer, checked_text

__all__ = ("DropSample", "RecordPlace")

RecordPlace = tuple[TopicPartition, int]
"""A partition, and an offset in it."""


class DropSample(NamedTuple):
    """The partition and offset of a record that a node dropped, without its content.

    Attributes:
        node: The node.
        reason: The reason.
        place: The source partition; for an edge, its name and the sending task.
        offset: The offset in that partition; for an edge, the number among the records of that
            task.
    """

    node: str
    reason: str
    place: TopicPartition
    offset: int

    def to_json(self) -> list[object]:
        """Return the fields as JSON-compatible data."""
        return [self.node, self.reason, str(self.place), self.offset]

    @classmethod
    def from_json(cls, data: object) -> DropSample:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        if not isinstance(data, list) or len(data) != len(cls._fields):
            raise ValueError(
                "expected the node, reason, partition and offset of a dropped record, "
                f"got {data!r:.80}"
            )
        node, reason, place = (checked_text(text, "a node, a reason, a place") for text in data[:3])
        offset = checked_integer(data[3], "an offset", least=-1)
        return cls(node, reason, TopicPartition.parse(place), offset)
