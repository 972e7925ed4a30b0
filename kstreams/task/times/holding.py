"""Held-back records: a batch reads them, but a later batch processes them.

A task holds a record back if unread records of other partitions may have earlier timestamps.
Otherwise the order of processing would depend on the ends of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kstreams.ids import TopicPartition
from kstreams.state.log.fields import MOST, Fields, checked_text
from kstreams.task.records.queues import Queue

__all__ = ("HeldBack", "Holding", "passed", "timely")


class HeldBack(NamedTuple):
    """The records of a partition that a batch reads and a later batch processes.

    Attributes:
        offset: The offset of the first held-back record.
        time: The time of this record, ms since the epoch: the highest time of its partition so far.
        passed: The number of processed records before it.
    """

    offset: int
    time: int
    passed: int


@dataclass(frozen=True)
class Holding:
    """The rule of a batch for held-back records, for tasks that compute the times of records.

    Attributes:
        open: Partitions that the batch does not read completely. Records of other partitions wait
            if they are later than the last read record of such a partition.
        before_ms: Records of this time or later wait, ms since the epoch; None: no bound.
    """

    open: frozenset[TopicPartition]
    before_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON-compatible data."""
        return {"open": sorted(map(str, self.open)), "before": self.before_ms}

    @classmethod
    def from_json(cls, fields: Fields) -> Holding:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        places = (checked_text(each, "an open partition") for each in fields.items("open"))
        before = None
        if fields.anything("before") is not None:
            before = fields.integer("before", least=-MOST)
        return cls(frozenset(map(TopicPartition.parse, places)), before)

    def among(self, places: frozenset[TopicPartition]) -> Holding | None:
        """Return the rule for a task that reads these partitions; None if no record can wait."""
        found = replace(self, open=self.open & places)
        return None if found.before_ms is None and not (found.open and len(places) > 1) else found


def passed(
    times: Sequence[npt.NDArray[np.int64] | None],
    is_open: Sequence[bool],
    before_ms: int | None = None,
) -> list[int | None]:
    """Return the number of records of each ordered queue that are processed now.

    A record is processed if no unread record can precede it: in the merged order, it must not come
    after the last record of any queue that is not read completely. All records of at least one
    queue fulfill this; `before_ms` may still exclude some of them.

    Args:
        times: The running maxima of each queue's times; None for queues that neither wait nor make
            others wait: records of an edge, or with the processing time.
        is_open: By queue, whether the batch leaves a part of it unread.
        before_ms: Records of this time or later wait, ms since the epoch; None: no bound.

    Returns:
        The number for each queue; None if all records of the queue are processed.
    """
    last = min(
        (
            (int(each[-1]), number)
            for number, (each, more) in enumerate(zip(times, is_open, strict=True))
            if more and each is not None and len(each)
        ),
        default=None,
    )
    found: list[int | None] = []
    for number, each in enumerate(times):
        if each is None:
            found.append(None)
            continue
        count = len(each)
        if last is not None:
            bound, first = last
            side: Any = "right" if number <= first else "left"
            count = int(np.searchsorted(each, bound, side))
        if before_ms is not None:
            count = min(count, int(np.searchsorted(each, before_ms, "left")))
        found.append(None if count == len(each) else count)
    return found


def timely(
    queues: Sequence[Queue],
    holding: Holding | None,
    running_maxima: Callable[[Queue], npt.NDArray[np.int64] | None],
) -> tuple[list[Queue], dict[TopicPartition, HeldBack]]:
    """Return the queues without the records that wait, and the first waiting record of each.

    Args:
        queues: The queues in the task's order.
        holding: The rule for held-back records; None: no record waits.
        running_maxima: The running maxima of a queue's times, as for `passed`.
    """
    if holding is None:
        return list(queues), {}
    times = [running_maxima(queue) for queue in queues]
    is_open = [queue.topic_partition in holding.open for queue in queues]
    now, held = list[Queue](), dict[TopicPartition, HeldBack]()
    counts = passed(times, is_open, holding.before_ms)
    for queue, found, count in zip(queues, times, counts, strict=True):
        if count is None or found is None:
            now.append(queue)
            continue
        offset: int = queue.table.column("offset")[count].as_py()
        held[queue.topic_partition] = HeldBack(offset, int(found[count]), count)
        if count:
            now.append(queue.with_table(queue.table.slice(0, count)))
    return now, held
