"""Joins that process both of their inputs together, within the calls of interceptors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kstreams.joins.join_processor import JoinProcessor
from kstreams.record import Record
from kstreams.task.records.rows import RecordCall

__all__ = ("Joint", "Meeting")

T = TypeVar("T")
"""The forwarded type: a record, or a table of records."""


class Meeting(Generic[T]):
    """Buffers the records of both inputs of a join, and joins them within calls of interceptors.

    When all records are buffered, interceptors get each record or table once, the left ones first;
    the join runs within the last of these calls. Only records that interceptors pass on are joined.

    Args:
        around: Wraps a function that takes left or right records in the node's interceptors.
        join: Joins the left records with the right records.

    Attributes:
        lefts: The buffered left records.
        rights: The buffered right records.
    """

    def __init__(
        self,
        around: Callable[[Callable[[T], None]], Callable[[T], None]],
        join: Callable[[list[T], list[T]], None],
    ) -> None:
        self._calls = around(self._let_left), around(self._let_right)
        self._join = join
        self.lefts: list[T] = []
        self.rights: list[T] = []
        self.clear()

    def clear(self) -> None:
        """Drop the buffered records."""
        self.lefts.clear()
        self.rights.clear()
        self._let: tuple[list[T], list[T]] = [], []
        self._is_last = False

    def settle(self) -> None:
        """Join the buffered records."""
        came = [(self._calls[0], given) for given in self.lefts]
        came += [(self._calls[1], given) for given in self.rights]
        self.clear()
        for number, (call, given) in enumerate(came, 1):
            self._is_last = number == len(came)
            call(given)
        if any(self._let):  # but not the last one
            self._join_let()

    def _let_left(self, given: T) -> None:
        self._take(self._let[0], given)

    def _let_right(self, given: T) -> None:
        self._take(self._let[1], given)

    def _take(self, side: list[T], given: T) -> None:
        side.append(given)
        if self._is_last:
            try:
                self._join_let()
            except BaseException:
                side.pop()  # an interceptor may call again
                raise

    def _join_let(self) -> None:
        self._join(*self._let)
        self._let = [], []


class Joint:
    """Joins the records that reach both inputs of a join node because of one forwarded record.

    Kafka Streams instead calls the join separately for each input. One record then gives two
    results, one of which combines a new row with an old row.

    Args:
        processor: The initialized processor of the join.
        around: Wraps a function that takes records in the checks and interceptors of the node.
    """

    def __init__(
        self,
        processor: JoinProcessor[Any, Any, Any, Any, Any],
        around: Callable[[RecordCall], RecordCall],
    ) -> None:
        self._left = around(processor.process_left)
        self._right = around(processor.process_right)
        self._both: Meeting[Record[Any, Any]] = Meeting(around, processor.process_both)
        self._depth = 0

    def take_left(self, record: Record[Any, Any]) -> None:
        """Take a record of the left input."""
        if self._depth:
            self._both.lefts.append(record)
        else:
            self._left(record)

    def take_right(self, record: Record[Any, Any]) -> None:
        """Take a record of the right input."""
        if self._depth:
            self._both.rights.append(record)
        else:
            self._right(record)

    def begin(self) -> None:
        """Buffer records from now on, until the matching `end`."""
        self._depth += 1

    def end(self) -> None:
        """Join the buffered records, unless an outer `begin` still lacks its `end`."""
        self._depth -= 1
        if not self._depth and (self._both.lefts or self._both.rights):
            self._both.settle()

    def mark(self) -> int:
        """Return the number of buffered records: 0 between two input records."""
        return len(self._both.lefts) + len(self._both.rights)

    def cut(self, _: int) -> None:
        """Drop the buffered records of a failed record."""
        self._depth = 0
        self._both.clear()
