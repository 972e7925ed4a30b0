"""Partitioners: functions from a key to its partition; the default is Kafka's.

All edges that move records between partitions use the same partitioner, so equal keys are in the
same task. Read `Partitioner` first, then `Murmur2Partitioner`, the default of Kafka's Java client.
`partitions_of` is the form for columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._murmur2 import ArrowKeys, murmur2_of, murmur2_of_column
from kstreams.errors import TopologyError

__all__ = (
    "MAX_PARTITIONS",
    "ArrowKeys",
    "FunctionPartitioner",
    "InnerKeyPartitioner",
    "Murmur2Partitioner",
    "Partitioner",
    "bad_count",
    "checked_partitioner",
    "count_problem",
    "murmur2",
    "partition_by",
    "partition_of",
    "partitions_of",
    "target",
    "targets",
)

MAX_PARTITIONS = 10_000
"""The maximum number of partitions of a created topic or edge.

Each partition is a task with its own stores and a part of each batch. Kafka brokers also refuse to
create more partitions in one request.
"""


def count_problem(partitions: int) -> str | None:
    """Return the reason why a partition count is invalid, or None."""
    if 1 <= partitions <= MAX_PARTITIONS:
        return None
    return f"partition count is {partitions:,}, expected 1 to {MAX_PARTITIONS:,}"


class Partitioner(Protocol):
    """Chooses the partition of a key.

    It is a pure function of the key's bytes and the partition count, on every machine and in every
    process. Two topics are co-partitioned only if their partitioners compare equal, so an
    implementation needs value equality, and must be picklable. `partition` never gets a null key:
    `target` and `targets` distribute records with null keys round-robin.
    """

    @property
    def name(self) -> str:
        """The name in descriptions and errors."""
        ...

    def partition(self, key: bytes, partitions: int) -> int:
        """Return the partition of one key, from 0 to `partitions` - 1.

        Args:
            key: The key as it is stored in the topic.
            partitions: The topic's partition count, at least 1.

        Raises:
            ValueError: `partitions` is below 1.
        """
        ...

    def partition_batch(self, keys: ArrowKeys, partitions: int) -> npt.NDArray[np.int32]:
        """Return the partition of each key of a column, -1 for a null key.

        Args:
            keys: Binary or string column; nulls allowed.
            partitions: The topic's partition count, at least 1.

        Returns:
            One int32 per key, in the column's order; empty for an empty column.

        Raises:
            ValueError: `partitions` is below 1.
        """
        ...


def checked_partitioner(partitioner: Partitioner, place: str) -> Partitioner:
    """Return the partitioner if it has the required methods.

    Args:
        partitioner: The partitioner of a user.
        place: The user of the partitioner, for the message: `"topic 'orders'"`.

    Raises:
        TopologyError: The partitioner has no name or lacks a method. The message has its class and
            the missing part.
    """
    named: object = getattr(partitioner, "name", None)
    missing = [] if isinstance(named, str) and named else ["a name (a str)"]
    missing += [
        f"a method {method}"
        for method in ("partition", "partition_batch")
        if not callable(getattr(partitioner, method, None))
    ]
    if not missing:
        return partitioner
    raise TopologyError(
        f"{place}: partitioner {type(partitioner).__qualname__} lacks {', '.join(missing)}",
        hint="implement kstreams.io.Partitioner, or make one of a function with "
        "kstreams.io.partition_by(function, name=...).",
    )


def murmur2(data: bytes) -> int:
    """Return Kafka's murmur2 hash of bytes as an unsigned 32-bit integer.

    Kafka's producers clear the highest bit of the hash and take it modulo the partition count.

    Example:
        >>> (murmur2(b"21") & 0x7FFFFFFF) % 8 == Murmur2Partitioner().partition(b"21", 8)
        True

    Source: `org.apache.kafka.common.utils.Utils#murmur2`.
    """
    return murmur2_of(data)


def target(
    partitioner: Partitioner, key: bytes | None, partitions: int, turns: Iterator[int]
) -> int:
    """Return the partition of a record; records with null keys are distributed round-robin.

    Args:
        partitioner: The partitioner of the topic.
        key: The key as stored in the topic.
        partitions: The partition count of the topic, at least 1.
        turns: An iterator that numbers records with null keys; used only for these.
    """
    if key is None:
        return next(turns) % partitions
    return partitioner.partition(key, partitions)


def targets(
    partitioner: Partitioner, keys: ArrowKeys, partitions: int, *, first: int = 0
) -> npt.NDArray[np.int32]:
    """Return the partition of each record of a key column.

    Records with null keys are distributed round-robin, by their number among all records.

    Args:
        partitioner: The partitioner of the topic or the edge.
        keys: A nullable binary or string column.
        partitions: The partition count of the topic, at least 1.
        first: The number of the first record.
    """
    found = partitioner.partition_batch(keys, partitions)
    if not keys.null_count:
        return found
    numbers = np.arange(first, first + len(found), dtype=np.int64) % partitions
    return np.where(found < 0, numbers.astype(np.int32), found)


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition that Kafka's Java client picks for a key.

    Args:
        key: The key as it is stored in the topic; may be empty.
        partitions: The topic's partition count, at least 1.

    Raises:
        ValueError: `partitions` is below 1.

    Source: `BuiltInPartitioner#partitionForKey`.
    """
    if partitions < 1:
        raise bad_count(partitions)
    return (murmur2_of(key) & 0x7FFFFFFF) % partitions


def partitions_of(keys: ArrowKeys, partitions: int) -> npt.NDArray[np.int32]:
    """Return the partition of each key of an Arrow column.

    Equal to `partition_of` key by key, without a Python object per key.

    Args:
        keys: A binary, string, large binary, large string or fixed-size binary array, sliced or
            not, or a chunked array of such arrays. Strings are hashed as UTF-8 bytes.
        partitions: The topic's partition count, at least 1.

    Returns:
        One int32 per key, in the column's order, -1 for a null key; empty for an empty column.

    Raises:
        TypeError: The column's type is neither binary nor string.
        ValueError: `partitions` is below 1.
    """
    if partitions < 1:
        raise bad_count(partitions)
    hashes = murmur2_of_column(keys)
    hashes &= np.uint32(0x7FFFFFFF)
    # Subtracting a quotient of columns is several times faster than numpy's %.
    quotients = hashes // np.uint32(partitions)
    quotients *= np.uint32(partitions)
    hashes -= quotients
    found = hashes.view(np.int32)
    if keys.null_count:
        found[_null_mask(keys)] = -1
    return found


@dataclass(frozen=True, slots=True)
class Murmur2Partitioner:
    """Kafka's default: murmur2 of the key's bytes, modulo the partition count.

    Any two instances are equal. The default of librdkafka is different (`consistent_random`):
    producers based on librdkafka need `partitioner=murmur2_random`.
    """

    name: str = field(default="murmur2", init=False)

    def partition(self, key: bytes, partitions: int) -> int:
        """Return the partition of one key; see `partition_of`."""
        return partition_of(key, partitions)

    def partition_batch(self, keys: ArrowKeys, partitions: int) -> npt.NDArray[np.int32]:
        """Return the partition of each key; see `partitions_of`."""
        return partitions_of(keys, partitions)


@dataclass(frozen=True, slots=True)
class InnerKeyPartitioner:
    """Murmur2 of the bytes of a key without its last bytes, which encode a window.

    Thus all windows of a key are in the partition of the key.

    Source: `org.apache.kafka.streams.kstream.internals.WindowedStreamPartitioner`.
    """

    tail_bytes: int
    name: str = field(default="murmur2-of-inner-key", init=False)

    def partition(self, key: bytes, partitions: int) -> int:
        """Return the partition of one key; see `partition_of`."""
        return partition_of(key[: -self.tail_bytes], partitions)

    def partition_batch(self, keys: ArrowKeys, partitions: int) -> npt.NDArray[np.int32]:
        """Return the partition of each key; see `partitions_of`."""
        inner = pc.binary_slice(keys.cast(pa.binary()), 0, -self.tail_bytes)
        return partitions_of(inner, partitions)


@dataclass(frozen=True, slots=True)
class FunctionPartitioner:
    """A partitioner that calls a user's function.

    Two instances are equal if they have the same name and function. `partition_batch` calls the
    function once per key.
    """

    name: str
    function: Callable[[bytes, int], int]

    def partition(self, key: bytes, partitions: int) -> int:
        """Return the function's result for one key.

        Raises:
            ValueError: `partitions` is below 1, or the result is not one of the topic's partitions.
        """
        if partitions < 1:
            raise bad_count(partitions)
        found = self.function(key, partitions)
        if not 0 <= found < partitions:
            raise ValueError(
                f"partitioner {self.name!r} gave partition {found}, expected 0 to "
                f"{partitions - 1}\nHint: take the result modulo the partition count."
            )
        return found

    def partition_batch(self, keys: ArrowKeys, partitions: int) -> npt.NDArray[np.int32]:
        """Return the function's result for each key, -1 for a null key."""
        if partitions < 1:
            raise bad_count(partitions)
        values: list[bytes | str | None] = keys.to_pylist()
        return np.fromiter(
            (
                -1 if value is None else self.partition(_as_bytes(value), partitions)
                for value in values
            ),
            dtype=np.int32,
            count=len(values),
        )


def partition_by(
    function: Callable[[bytes, int], int], *, name: str | None = None
) -> FunctionPartitioner:
    """Create a partitioner from a function of a key's bytes and the partition count.

    Args:
        function: A pure function that can be pickled, because it runs on the executors. It returns
            a number from 0 to the partition count - 1.
        name: The name in descriptions and errors; by default the function's name.

    Example:
        >>> by_length = partition_by(lambda key, count: len(key) % count, name="by-length")
        >>> by_length.partition(b"seven77", 4)
        3
    """
    return FunctionPartitioner(name or _function_name(function), function)


def _null_mask(keys: ArrowKeys) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = np.asarray(keys.is_null())
    return mask


def _as_bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _function_name(function: Callable[[bytes, int], int]) -> str:
    named: object = getattr(function, "__qualname__", None)
    return named if isinstance(named, str) else type(function).__qualname__


def bad_count(partitions: int) -> ValueError:
    """Return the error for a partition count below 1."""
    return ValueError(f"partition count is {partitions}, expected at least 1")
