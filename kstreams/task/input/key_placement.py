"""Checks whether the records of a source are in the partitions that their keys belong to."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.errors import KStreamsError, MisplacedKeyError
from kstreams.graph.checks.co_partitioning import meetings
from kstreams.graph.checks.repartition_hints import repartition_lines
from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.partitioner import Partitioner
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.state.log.totals import MISPLACED
from kstreams.task.progress.cursor import Cursor
from kstreams.task.records.queues import Queue
from kstreams.task.records.unframing import as_read

__all__ = ("Placement",)

_SAMPLE = 256
"""The maximum number of checked keys of a queue; checking takes 0.05 ms per batch."""

_TELLING = 8
"""With this many keys, it is no coincidence if all fit a smaller partition count."""

_MOST_TRIED = 64

_NOWHERE = -2
"""The partition of a key for which its topic's partitioner raises."""


class Placement:
    """Checks a sample of the keys of sources that joins or stores combine with other inputs.

    The sample depends only on the batch, so each attempt has the same result.

    Args:
        group: The group of the task.
        partitions: The partition count of each input; None disables the check.
        cursor: Counts misplaced keys.
    """

    def __init__(
        self,
        group: PartitionGroup,
        partitions: Mapping[str, int] | None,
        cursor: Cursor,
    ) -> None:
        self._partitions = partitions or {}
        self._cursor = cursor
        self._group = group
        self._met: dict[str, tuple[SourceNode, str]] = {}
        if max(self._partitions.values(), default=0) < 2:
            return
        for meeting in meetings((*group.entries, *group.nodes)):
            for entry in meeting.entries:
                if isinstance(entry, SourceNode):
                    self._met.setdefault(entry.name, (entry, meeting.place))

    def check(self, queue: Queue) -> None:
        """Check whether the keys of a queue's first records belong to the queue's partition.

        Raises:
            MisplacedKeyError: A key is in another partition than its own, and neither the policy of
                its topic nor that of its source lets the app continue.
        """
        source, place = self._met.get(queue.entry, (None, ""))
        if source is None or not queue.table.num_rows:
            return
        keys = as_read(queue.table).column("key").slice(0, _SAMPLE)
        owners = _owners(source.topic.partitioner, keys, self._count(source))
        wrong = np.flatnonzero((owners != queue.partition) & (owners != -1))
        if not len(wrong):
            return
        if source.topic.misplaced == "count" or source.on_error != "fail":
            self._cursor.drop(queue.entry, MISPLACED, len(wrong))
            return
        raise self._error(source, place, queue, owners, wrong)

    def _error(
        self,
        source: SourceNode,
        place: str,
        queue: Queue,
        owners: npt.NDArray[np.int32],
        wrong: npt.NDArray[np.int64],
    ) -> MisplacedKeyError:
        row, topic = int(wrong[0]), source.topic
        owner = int(owners[row])
        keys = as_read(queue.table).column("key")
        data = [key for key in objects_of(keys.slice(0, _SAMPLE)) if key]
        belongs = f"belongs to partition {owner}" if owner >= 0 else "has no partition"
        error = MisplacedKeyError(
            f"a key of topic {topic.name!r} is in partition {queue.partition} of "
            f"{self._count(source)}, but {belongs} by {topic.partitioner.name}; {len(wrong)} of "
            f"{len(owners)} checked keys are misplaced, so {place} would process equal keys in "
            f"different tasks",
            expected=owner if owner >= 0 else None,
            hint=self._hint(source, data, queue.partition),
        )
        return error.at(
            node=source.name,
            key=_shown(topic.key, keys[row].as_py()),
            **queue.place(row),
        )

    def _hint(self, source: SourceNode, keys: Sequence[bytes], partition: int) -> str:
        crc32 = bool(keys) and all(zlib.crc32(k) % self._count(source) == partition for k in keys)
        fewer = self._fewer(source, keys, partition)
        if crc32:
            why = (
                "the keys are in the partitions of librdkafka's default partitioner, "
                "consistent_random (CRC32): "
                "set partitioner=murmur2_random in the producer, and write the topic again"
            )
        elif fewer:
            why = (
                f"the keys are placed as if the topic had {fewer} partitions: partitions were "
                "added, and old records were not moved. Write the topic again"
            )
        else:
            why = (
                "the producer uses another partitioner. librdkafka's default is "
                "consistent_random (CRC32, and any partition for an empty key): set "
                "partitioner=murmur2_random in the producer, and write the topic again. If this "
                "partitioner is intended, set it with Topic(partitioner=...)"
            )
        lines = repartition_lines(self._group, source)
        return (
            f"{why}. Or replace the source with a source and a repartition:\n{lines} "
            "Topic(misplaced='count') only counts such keys."
        )

    def _count(self, source: SourceNode) -> int:
        """Return the partition count of a source's topic."""
        return self._partitions[source.name]

    def _fewer(self, source: SourceNode, keys: Sequence[bytes], partition: int) -> int | None:
        """Return a smaller partition count for which all keys are placed correctly, or None."""
        distinct = pa.array(set(keys), pa.binary())
        if len(distinct) < _TELLING:
            return None
        for count in range(min(self._count(source) - 1, _MOST_TRIED), partition, -1):
            if bool((_owners(source.topic.partitioner, distinct, count) == partition).all()):
                return count
        return None


def _owners(partitioner: Partitioner, keys: Any, partitions: int) -> npt.NDArray[np.int32]:  # noqa: ANN401  # a column, chunked or not
    """Return the partition of each key; -1 for a null, `_NOWHERE` if the partitioner raises."""
    try:
        return partitioner.partition_batch(keys, partitions)
    except Exception:  # noqa: BLE001  # a user's function, given what anybody has written
        found = [_owner(partitioner, key, partitions) for key in objects_of(keys)]
        return np.array(found, np.int32)


def _owner(partitioner: Partitioner, key: bytes | None, partitions: int) -> int:
    if key is None:
        return -1
    try:
        return partitioner.partition(key, partitions)
    except Exception:  # noqa: BLE001  # as above
        return _NOWHERE


def _shown(serde: Serde[Any], key: bytes) -> object:
    try:
        return serde.deserialize(key)
    except KStreamsError:
        return key
