"""Which records of a batch wait for a later one: those that others may still come before."""

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
    """Where a partition's records wait.

    Attributes:
        offset: Of the first one that waits.
        time: Its time, ms since the epoch: the highest so far of its partition's.
        passed: How many records before it were processed.
    """

    offset: int
    time: int
    passed: int


@dataclass(frozen=True)
class Holding:
    """What a batch says to tasks whose records' times only they can tell.

    Attributes:
        open: Partitions of which the batch does not read all that there is. What others have
            that is later than the last of it waits.
        before_ms: Records of this time or later wait, ms since the epoch; None: no bound.
    """

    open: frozenset[TopicPartition]
    before_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"open": sorted(map(str, self.open)), "before": self.before_ms}

    @classmethod
    def from_json(cls, fields: Fields) -> Holding:
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
        places = (checked_text(each, "an open partition") for each in fields.items("open"))
        before = None
        if fields.anything("before") is not None:
            before = fields.integer("before", least=-MOST)
        return cls(frozenset(map(TopicPartition.parse, places)), before)

    def among(self, places: frozenset[TopicPartition]) -> Holding | None:
        """Return what of it concerns a task that reads some partitions; None if nothing does."""
        found = replace(self, open=self.open & places)
        return None if found.before_ms is None and not (found.open and len(places) > 1) else found


def passed(
    times: Sequence[npt.NDArray[np.int64] | None],
    is_open: Sequence[bool],
    before_ms: int | None = None,
) -> list[int | None]:
    """Return how many records of each queue are processed now, of queues in their order.

    Those that come, in the merged order, no later than the last record of every queue that
    is not read to its end: nothing that was not read can belong before them. So of one queue
    at least all records pass, unless they are not before `before_ms`.

    Args:
        times: The running maxima of each queue's times; None where nothing waits and nothing
            is waited for: records that come over an edge, or have the time of processing.
        is_open: Which of them are not read to their ends.
        before_ms: Records of this time or later wait.

    Returns:
        None for a queue that passes whole.
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
    """Leave out what has to wait for a later batch; return that as well.

    Args:
        queues: What has come, in the task's order.
        holding: What waits; None: nothing.
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
