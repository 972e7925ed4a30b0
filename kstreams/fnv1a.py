"""The 32-bit FNV-1a hash, which goka and Sarama use to partition: of a key or an Arrow column."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams._murmur2 import ArrowKeys, buffers_of
from kstreams.partitioner import bad_count

__all__ = ("Fnv1aPartitioner", "fnv1a")

_BASIS = 0x811C9DC5
_PRIME = 0x01000193
_MASK = 0xFFFFFFFF
_LONG = 256
"""Longer keys are hashed one by one, because hashing a column takes one step per byte."""


def fnv1a(data: bytes) -> int:
    """Return the FNV-1a hash of bytes as an unsigned 32-bit integer.

    Example:
        >>> hex(fnv1a(b"foobar"))
        '0xbf9cf968'

    Source: Go's `hash/fnv`, `New32a`.
    """
    value = _BASIS
    for byte in data:
        value = (value ^ byte) * _PRIME & _MASK
    return value


@dataclass(frozen=True, slots=True)
class Fnv1aPartitioner:
    """The partitioner of goka and default of Sarama: absolute value of FNV-1a as a signed integer.

    Any two instances are equal. Use it for a topic that goka writes: `Topic(...,
    partitioner=Fnv1aPartitioner())`.

    Source: goka's `DefaultHasher`, Sarama's `NewHashPartitioner`.
    """

    name: str = field(default="fnv1a", init=False)

    def partition(self, key: bytes, partitions: int) -> int:
        """Return the partition of one key.

        Raises:
            ValueError: `partitions` is below 1.
        """
        if partitions < 1:
            raise bad_count(partitions)
        value = fnv1a(key)
        return (value if value < 1 << 31 else (1 << 32) - value) % partitions

    def partition_batch(self, keys: ArrowKeys, partitions: int) -> npt.NDArray[np.int32]:
        """Return the partition of each key, -1 for a null key.

        Raises:
            TypeError: The column's type is neither binary nor string.
            ValueError: `partitions` is below 1.
        """
        if partitions < 1:
            raise bad_count(partitions)
        signed = _hashes(keys).view(np.int32).astype(np.int64)
        found = (np.abs(signed) % partitions).astype(np.int32)
        if keys.null_count:
            found[np.asarray(keys.is_null())] = -1
        return found


def _hashes(keys: ArrowKeys) -> npt.NDArray[np.uint32]:
    """Return the hash of each key of a column; the hash of a null key is undefined."""
    chunks = keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]
    made = [_of_chunk(*buffers_of(chunk)) for chunk in chunks]
    return np.concatenate(made) if made else np.empty(0, np.uint32)


def _of_chunk(
    offsets: npt.NDArray[np.signedinteger], data: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint32]:
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    hashes = np.full(len(order), _BASIS, np.uint32)
    long = int(np.searchsorted(-lengths, -_LONG, side="left"))
    for row in range(long):
        start = int(starts[row])
        hashes[row] = fnv1a(data[start : start + int(lengths[row])].tobytes())
    starts, lengths, rest = starts[long:], lengths[long:], hashes[long:]
    for place in range(int(lengths[0]) if len(lengths) else 0):
        active = int(np.searchsorted(-lengths, -place, side="left"))
        rest[:active] ^= data[starts[:active] + place]
        rest[:active] *= np.uint32(_PRIME)
    found = np.empty_like(hashes)
    found[order] = hashes
    return found
