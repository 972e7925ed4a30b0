r"""The portable format of a batch's changes and of a snapshot's chunks.

It does not depend on the backend: any backend on any platform can restore from it. Integers
are little-endian.

    magic      4 bytes   b"KSD\x02": the last byte is the format's version
    header     u32       length, then UTF-8 JSON: the task, the attempt, and for each store
                         [name, pairs, key bytes, value bytes, deleted ranges, bytes of
                         the ranges' bounds]; "raw": uncompressed length of the body
    body       zstd      for each store: u32 key lengths, u32 value lengths (2**32 - 1 for
                         a deleted key), all keys (ascending), all values; then u32
                         lengths of the ranges' bounds, starts alternating with ends, and all bounds
    digest     32 bytes  SHA-256 of all bytes before the digest

Version 1 can be read, too; it has no ranges, and lacks a store's last two header fields.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import chain
from operator import itemgetter, lt

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.errors import StateCorruptError
from kstreams.state.backend.working import Changes, KeyRange, Pair, StoreChanges
from kstreams.state.log.stored_names import with_attribute_names, with_stored_names

__all__ = ("DIGEST_BYTES", "DeltaHeader", "decode", "encode")

DIGEST_BYTES = 32
_MAGIC = b"KSD"
_FORMAT = 2
_HEAD_BYTES = len(_MAGIC) + 1
_DELETED = 2**32 - 1
_LENGTH = np.dtype("<u4")
_BLOCK = 4096
_CODEC = "zstd"
_MERGERS = ("first", "version_id")


@dataclass(frozen=True)
class DeltaHeader:
    """The origin of an object in the durable log.

    Args:
        app: The app.
        group: The partition group.
        partition: The partition.
        version: The resulting version.
        batch: The number of the writer's micro-batch.
        attempt: The name of the writer's attempt.
        parent: The version id of the previous version, hex.
        kind: The kind of content: `delta`, `chunk`, or for merged deltas `1.run`, `2.run`, ...
        first: For a merged delta: the first version of its changes; 0 if unknown.
        version_id: For a merged delta: the resulting version id, hex; empty if unknown.
    """

    app: str
    group: str
    partition: int
    version: int
    batch: int
    attempt: str
    parent: str
    kind: str = "delta"
    first: int = 0
    version_id: str = ""


def encode(changes: Changes, header: DeltaHeader) -> bytes:
    """Return the bytes of an object with these changes; equal arguments give equal bytes.

    Raises:
        ValueError: The keys or ranges of a store do not ascend.
    """
    stores: list[list[str | int]] = []
    parts: list[bytes] = []
    for store in sorted(changes):
        sizes, columns = _encode_store(store, changes[store])
        stores.append([store, *sizes])
        parts.extend(columns)
    raw = b"".join(parts)
    known = {name: value for name, value in asdict(header).items() if name not in _MERGERS or value}
    fields = json.dumps(
        {**with_stored_names(known), "stores": stores, "raw": len(raw)}, separators=(",", ":")
    ).encode()
    body = pa.Codec(_CODEC).compress(raw, asbytes=True)
    content = b"".join((_MAGIC, bytes((_FORMAT,)), struct.pack("<I", len(fields)), fields, body))
    return content + sha256(content).digest()


def decode(data: bytes, name: str = "") -> tuple[DeltaHeader, dict[str, StoreChanges]]:
    """Return the header and the changes of an object; `name` is for errors.

    Raises:
        StateCorruptError: The object is damaged, or of a later format.
    """
    content, digest = memoryview(data)[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if len(data) < _HEAD_BYTES + DIGEST_BYTES or sha256(content).digest() != digest:
        raise _corrupt(name, f"its {len(data)} bytes do not match their checksum")
    if content[: len(_MAGIC)] != _MAGIC:
        raise _corrupt(name, f"it begins with {bytes(content[:4])!r} instead of {_MAGIC!r}")
    if content[len(_MAGIC)] > _FORMAT:
        raise StateCorruptError(
            f"object {name!r} of the state's log has format {content[len(_MAGIC)]}; this "
            f"version reads up to {_FORMAT}",
            hint="A later version of the library wrote the object: install that version.",
        )
    try:
        (length,) = struct.unpack_from("<I", content, _HEAD_BYTES)
        start = _HEAD_BYTES + 4
        fields = json.loads(bytes(content[start : start + length]))
        stores, raw_bytes = fields.pop("stores"), fields.pop("raw")
        raw = _decompressed(content[start + length :], raw_bytes) if raw_bytes else b""
        return DeltaHeader(**with_attribute_names(fields)), dict(_decode_stores(stores, raw))
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
        OSError,
        struct.error,
    ) as error:
        raise _corrupt(name, f"its content cannot be decoded: {error!r}") from error


def _decompressed(frame: memoryview, count: int) -> bytes:
    """Decompress a zstd frame; raise `ValueError` unless its header has the size `count`."""
    if count != _content_bytes(frame):
        raise ValueError(f"expected a zstd frame of {count!r} bytes of content")
    found: bytes = pa.Codec(_CODEC).decompress(frame, count, asbytes=True)
    return found


def _content_bytes(frame: memoryview) -> int:
    """Return the content size in the header of a zstd frame (RFC 8878, 3.1.1.1); -1 without one."""
    descriptor = frame[4]
    single, code = descriptor >> 5 & 1, descriptor >> 6
    width = (single, 2, 4, 8)[code]
    start = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    found = int.from_bytes(frame[start : start + width], "little")
    return (found + 256 if code == 1 else found) if width else -1


def _encode_store(store: str, changes: StoreChanges) -> tuple[list[int], list[bytes]]:
    """Return a store's five sizes for the header, and its parts of the body."""
    pairs = changes.pairs
    keys, given = list(map(itemgetter(0), pairs)), list(map(itemgetter(1), pairs))
    if not all(map(lt, keys, keys[1:])):
        raise ValueError(
            f"store {store!r}: the keys of a batch's changes must be distinct and sorted"
        )
    bounds = list(chain.from_iterable(changes.ranges))
    if not all(map(lt, bounds, bounds[1:])):
        raise ValueError(
            f"store {store!r}: the ranges that a batch deletes must be sorted and not touch"
        )
    deleted = [at for at, value in enumerate(given) if value is None] if None in given else []
    values = [value or b"" for value in given] if deleted else given
    value_lengths = _lengths(values)
    value_lengths[deleted] = _DELETED
    parts = [b"".join(keys), b"".join(values), b"".join(bounds)]
    sizes = [len(keys), len(parts[0]), len(parts[1]), len(changes.ranges), len(parts[2])]
    lengths = (_lengths(keys).tobytes(), value_lengths.tobytes(), _lengths(bounds).tobytes())
    return sizes, [*lengths[:2], *parts[:2], lengths[2], parts[2]]


def _lengths(items: Sequence[bytes]) -> npt.NDArray[np.uint32]:
    return np.fromiter(map(len, items), _LENGTH, len(items))


def _decode_stores(
    stores: Sequence[tuple[str, int, int, int] | tuple[str, int, int, int, int, int]], raw: bytes
) -> Iterator[tuple[str, StoreChanges]]:
    at = 0
    for store, count, key_bytes, value_bytes, *more in stores:
        lengths = np.frombuffer(raw, _LENGTH, 2 * count, at)
        at += lengths.nbytes
        keys = _split(raw[at : at + key_bytes], lengths[:count])
        at += key_bytes
        deleted = lengths[count:] == _DELETED
        values: list[bytes | None] = list(
            _split(raw[at : at + value_bytes], np.where(deleted, 0, lengths[count:]))
        )
        at += value_bytes
        for index in np.flatnonzero(deleted).tolist():
            values[index] = None
        ranges: list[KeyRange] = []
        if more:
            count, bounds_bytes = more
            lengths = np.frombuffer(raw, _LENGTH, 2 * count, at)
            at += lengths.nbytes
            bounds = _split(raw[at : at + bounds_bytes], lengths)
            at += bounds_bytes
            ranges = list(zip(bounds[::2], bounds[1::2], strict=True))
        pairs: list[Pair] = []
        for first in range(0, len(keys), _BLOCK):
            block = slice(first, first + _BLOCK)
            pairs += zip(keys[block], values[block], strict=True)
        yield store, StoreChanges(pairs, ranges)


def _split(joined: bytes, lengths: npt.NDArray[np.uint32]) -> list[bytes]:
    """Split bytes into parts of these lengths, in blocks so that other threads can run between."""
    found: list[bytes] = []
    at = 0
    for first in range(0, len(lengths), _BLOCK):
        block = lengths[first : first + _BLOCK]
        ends = (at + np.cumsum(block, dtype=np.int64)).tolist()
        found += [joined[start:end] for start, end in zip([at, *ends], ends, strict=False)]
        at = ends[-1]
    return found


def _corrupt(name: str, problem: str) -> StateCorruptError:
    return StateCorruptError(
        f"object {name!r} of the state's log is damaged: {problem}",
        hint="Restore the object from a copy of the log, or start from an older savepoint.",
    )
