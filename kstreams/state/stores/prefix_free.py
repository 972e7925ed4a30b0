"""An order-preserving encoding of key bytes in which no key is a prefix of another key."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import DeserializationError

__all__ = ("read_prefix_free", "write_all_prefix_free", "write_prefix_free")

_END = b"\x00\x00"
_ZERO = b"\x00\xff"


def write_prefix_free(data: bytes) -> bytes:
    """Encode key bytes so that they sort like `data` even if other bytes follow the encoding."""
    return data.replace(b"\x00", _ZERO) + _END


def write_all_prefix_free(data: pa.Array) -> pa.Array:
    """Return the results of `write_prefix_free` for a `binary` array, as a `binary` array."""
    written = pc.replace_substring(data, pattern=b"\x00", replacement=_ZERO)
    return pc.binary_join_element_wise(written, pa.scalar(_END, pa.binary()), b"")


def read_prefix_free(data: bytes, place: int = 0) -> tuple[bytes, int]:
    """Return the decoded bytes at a position, and the position after their encoding.

    Raises:
        DeserializationError: The end of the encoded key is missing.
    """
    end = place
    while True:
        end = data.find(b"\x00", end)
        if end < 0 or end + 1 >= len(data):
            raise DeserializationError(f"a key is cut short: {data[:40]!r}")
        if data[end + 1] == 0:
            return data[place:end].replace(_ZERO, b"\x00"), end + 2
        end += 2
