"""A join node that one record may reach by both inputs: it sees both at once, when all is there."""

from __future__ import annotations

from typing import Any

from kstreams.joins.join_processor import JoinProcessor
from kstreams.record import Record
from kstreams.task.rows import RecordCall

__all__ = ("Joint",)


class Joint:
    """Gathers what comes to both inputs while a node above them forwards.

    Kafka Streams calls a join at once for each of its inputs, so that one record gives two
    results, one of them made of a new row and an old one.

    Args:
        processor: The join's, initialised.
        left: What takes a record of the left input by itself.
        right: What takes one of the right input.
    """

    def __init__(
        self, processor: JoinProcessor[Any, Any, Any, Any, Any], left: RecordCall, right: RecordCall
    ) -> None:
        self._process_both = processor.process_both
        self._left = left
        self._right = right
        self._depth = 0
        self._lefts: list[Record[Any, Any]] = []
        self._rights: list[Record[Any, Any]] = []

    def take_left(self, record: Record[Any, Any]) -> None:
        """Take a record of the left input."""
        if self._depth:
            self._lefts.append(record)
        else:
            self._left(record)

    def take_right(self, record: Record[Any, Any]) -> None:
        """Take a record of the right input."""
        if self._depth:
            self._rights.append(record)
        else:
            self._right(record)

    def begin(self) -> None:
        """Gather from here on."""
        self._depth += 1

    def end(self) -> None:
        """Join what was gathered, unless a node further above still forwards."""
        self._depth -= 1
        if not self._depth and (self._lefts or self._rights):
            lefts, rights, self._lefts, self._rights = self._lefts, self._rights, [], []
            self._process_both(lefts, rights)

    def mark(self) -> int:
        """Return how much is gathered: nothing, between records."""
        return len(self._lefts) + len(self._rights)

    def cut(self, _: int) -> None:
        """Forget what a failing record has left."""
        self._depth = 0
        self._lefts, self._rights = [], []
