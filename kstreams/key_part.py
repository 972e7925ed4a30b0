"""Partition records by a part of their keys (KIP-759)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams._types import K
from kstreams.columns.row_failure import RowFailure, called
from kstreams.errors import SerializationError, TopologyError
from kstreams.partitioner import ArrowKeys, Partitioner, bad_count, partition_of, partitions_of
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.numbers import BOOL, DOUBLE, INT64
from kstreams.serde.text import BYTES, TEXT
from kstreams.stored_names import dashed, kebab

__all__ = ("KeyPartPartitioner", "edge_partitioner", "partition_by_part")

_SERDES: dict[type, Serde[Any]] = {str: TEXT, bytes: BYTES, bool: BOOL, int: INT64, float: DOUBLE}
"""The serdes of parts; their bytes are those of a topic whose keys are the parts."""


@dataclass(frozen=True)
class KeyPartPartitioner:
    """A partitioner by a part of the key: murmur2 of the part's bytes.

    Records with equal parts are in one partition, which is that of the part as the key of a topic.
    Two instances are equal if the name, the serde and the function are equal.

    Attributes:
        name: The name in descriptions and errors; it is recorded with the state of the app.
        key: The serde of the keys.
        function: Returns the part of a key.
    """

    name: str
    key: Serde[Any]
    function: Callable[[Any], object]

    def partition(self, key: bytes, partitions: int) -> int:
        """Return the partition of one key.

        Raises:
            SerializationError: The part is not text, bytes, a number, a bool or a tuple of these.
            ValueError: `partitions` is below 1.
        """
        return partition_of(self._encoded(self.function(self.key.deserialize(key))), partitions)

    def partition_batch(self, keys: ArrowKeys, partitions: int) -> npt.NDArray[np.int32]:
        """Return the partition of each key, -1 for a null key; `function` gets each key only once.

        Errors as in `partition`.
        """
        if partitions < 1:
            raise bad_count(partitions)
        whole = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
        found = whole.cast(pa.binary()).dictionary_encode()
        objects = self.key.deserialize_many(found.dictionary)
        try:
            parts = called(self.function, objects)
        except RowFailure as failure:
            raise failure.reason from None
        data = pa.array(list(map(self._encoded, parts)), pa.binary())
        places: npt.NDArray[np.int32] = found.indices.fill_null(-1).to_numpy()
        return np.append(partitions_of(data, partitions), np.int32(-1))[places]

    def _encoded(self, part: object) -> bytes:
        serde = _serde_of(part)
        if serde is None:
            raise SerializationError(
                f"partitioner {self.name!r} returned {type(part).__name__} as a part of a key, "
                "expected text, bytes, a number, a bool or a tuple of these",
                hint="return a field of the key that is never None.",
            )
        return serde.serialize(part)


def partition_by_part(
    function: Callable[[K], object], *, key: Serde[K], name: str | None = None
) -> Partitioner:
    """Create a partitioner by a part of the key, for topics; edges have `partition_by=`.

    Args:
        function: Returns the part of a key: text, bytes, a number, a bool or a tuple of these. It
            is a pure function that can be pickled. A function of `columns` is computed without a
            call for each key.
        key: The serde of the keys.
        name: The name in descriptions and errors; by default `part-` and the name of the function,
            or the names of the fields that a lambda reads.

    Raises:
        TopologyError: The argument is not a function, or a lambda reads no field of the key.

    Example:
        >>> from kstreams import TEXT
        >>> def user_of(path: str) -> str:
        ...     return path.split("/")[0]
        >>> partition_by_part(user_of, key=TEXT).name
        'part-user-of'

    Source: KIP-759, whose `markAsPartitioned` trusts the user; here the edge itself is partitioned
        by the part.
    """
    if not callable(function):
        raise TopologyError(
            f"partition_by is a {type(function).__name__}, expected a function of the key",
            hint="pass a function that returns a part of the key: lambda key: key.customer.",
        )
    return KeyPartPartitioner(name or _name(function), key, function)


def edge_partitioner(
    partitioner: Partitioner | None,
    partition_by: Callable[[Any], object] | None,
    key: Serde[Any],
    place: str,
) -> Partitioner | None:
    """Return the partitioner of an edge; None for the default.

    Args:
        partitioner: The given partitioner, if there is one.
        partition_by: Returns the part of a key that determines the partition, if it is given.
        key: The serde of the keys.
        place: The edge, for the message.

    Raises:
        TopologyError: Both are given, or `partition_by` is not a function.
    """
    if partition_by is None:
        return partitioner
    if partitioner is not None:
        raise TopologyError(
            f"{place} has both partitioner= and partition_by=", hint="leave one of them out."
        )
    return partition_by_part(partition_by, key=key)


def _name(function: object) -> str:
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "original", None) or getattr(function, "function", function)
    named = str(getattr(function, "__name__", type(function).__name__))
    if named == "<lambda>":
        code: Any = getattr(function, "__code__", None)
        named = "-".join(code.co_names)
    if not named:
        raise TopologyError(
            "partition_by is a lambda without a name: it reads no field of the key",
            hint="define the function with def; its name is recorded, to detect another function.",
        )
    return dashed("part", kebab(named))


def _serde_of(part: object) -> Serde[Any] | None:
    if not isinstance(part, tuple) or not part:
        return _SERDES.get(type(part))
    serdes: Sequence[Serde[Any] | None] = [_serde_of(each) for each in part]
    known = [each for each in serdes if each is not None]
    return TupleSerde(*known) if len(known) == len(serdes) else None
