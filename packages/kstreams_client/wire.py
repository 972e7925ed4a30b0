r"""The wire format of encoded rows from a server to a `RemoteView`. Integers are little-endian.

- Header: a u32 length, then UTF-8 JSON: `version` (batch or null), `wall_ms`, `time` (the task's
  stream time), `ended` (whether a scan has no more rows).
- Each pair: the u32 length of the key, the u32 length of the value (2**32 - 1 for None), the key,
  the value.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

from kstreams.errors import StoreError
from kstreams.state.backend.working import Pair
from kstreams.state.log.commits import SEED
from kstreams.state.log.fields import MOST, Fields

__all__ = ("Found", "decode_found", "encode_found")

_LENGTH = struct.Struct("<I")
_LENGTHS = struct.Struct("<II")
_NONE = 2**32 - 1
_HEADER = ("version", "wall_ms", "time", "ended")


@dataclass(frozen=True)
class Found:
    """Encoded rows of one partition at one version.

    Attributes:
        version: The batch; None before the first commit.
        wall_ms: The time of the commit, ms since the epoch.
        time: The task's stream time, ms since the epoch; -1 before the first record.
        ended: Whether there are no more rows.
        pairs: Keys and values; the value of a requested key that does not exist is None.
    """

    version: int | None
    wall_ms: int
    time: int
    ended: bool
    pairs: tuple[Pair, ...]


def encode_found(found: Found) -> bytes:
    """Encode rows in the wire format."""
    head = {name: getattr(found, name) for name in _HEADER}
    text = json.dumps(head, separators=(",", ":")).encode()
    parts = [_LENGTH.pack(len(text)), text]
    for key, value in found.pairs:
        parts.append(_LENGTHS.pack(len(key), _NONE if value is None else len(value)))
        parts.append(key)
        if value is not None:
            parts.append(value)
    return b"".join(parts)


def decode_found(data: bytes) -> Found:
    """Parse the bytes of `encode_found`.

    Raises:
        StoreError: The bytes have another format.
    """
    try:
        (length,) = _LENGTH.unpack_from(data)
        at = _LENGTH.size + length
        fields = Fields(json.loads(data[_LENGTH.size : at]))
        pairs: list[Pair] = []
        while at < len(data):
            key_bytes, value_bytes = _LENGTHS.unpack_from(data, at)
            start = at + _LENGTHS.size
            middle = start + key_bytes
            at = middle if value_bytes == _NONE else middle + value_bytes
            pairs.append((data[start:middle], None if value_bytes == _NONE else data[middle:at]))
        if at > len(data):
            raise StoreError("the server's reply ends in the middle of a row")
        version = fields.anything("version")
        return Found(
            None if version is None else fields.integer("version", least=SEED),
            fields.integer("wall_ms", least=-MOST),
            fields.integer("time", least=-MOST),
            fields.flag("ended"),
            tuple(pairs),
        )
    except (ValueError, struct.error) as exc:
        raise StoreError(f"the rows in the server's reply cannot be parsed: {exc}") from exc
