"""Topics made of record times only, and batches planned from them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kstreams.batch.planning.batch_limits import Portion, Portions
from kstreams.batch.planning.batch_size_control import Pace
from kstreams.batch.planning.time_cut import Counts
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition

Times = Mapping[TopicPartition, npt.NDArray[np.int64]]


class Backlog:
    """Partitions given by the times of their records, with the position read up to in each.

    Attributes:
        highest: The running maxima of the times, by partition.
        at: The next offset to read, by partition.
        asked: Number of requests for times.
    """

    def __init__(self, times: Mapping[TopicPartition, Sequence[int] | npt.NDArray[np.int64]]):
        arrays = {place: np.asarray(each, np.int64) for place, each in times.items()}
        self.highest = {place: np.maximum.accumulate(each) for place, each in arrays.items()}
        self.ends = {place: len(each) for place, each in arrays.items()}
        self.at = dict.fromkeys(arrays, 0)
        self.asked = 0

    def first_since(
        self, places: Collection[TopicPartition], time: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        self.asked += 1
        found = {place: int(np.searchsorted(self.highest[place], time)) for place in places}
        return {
            place: (first, int(self.highest[place][first]))
            for place, first in found.items()
            if first < len(self.highest[place])
        }

    def portions(self, groups: Sequence[PartitionGroup], most: int, size: float = 1.0) -> Portions:
        return Portions(
            groups,
            first_since=self.first_since,
            look=lambda _place, _offset: size,
            pace=Pace(most),
            max_bytes=1 << 28,
        )

    def batches(self, portions: Portions) -> Iterator[Portion]:
        while portion := self.batch(portions):
            yield portion

    def batch(self, portions: Portions) -> Portion | None:
        found = portions.next(self.at, self.ends)
        self.read(found.counts)
        return found if found.counts else None

    def read(self, counts: Counts) -> None:
        for place, count in counts.items():
            self.at[place] += count

    def drift(self) -> int:
        """Return by how many ms the latest record read exceeds the earliest unread record."""
        read = [self.highest[p][n - 1] for p, n in self.at.items() if n]
        left = [self.highest[p][n] for p, n in self.at.items() if n < self.ends[p]]
        return max(0, int(max(read, default=0) - min(left))) if left else 0
