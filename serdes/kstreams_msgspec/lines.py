"""Many JSON documents as lines, which msgspec decodes and encodes in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ("decode_as_lines", "encode_as_lines")

_MOST_BYTES = 2**31 - 1
_LINE_FEED = ord("\n")
_OPENING = np.zeros(256, bool)
_OPENING[list(b"{[")] = True
_CLOSING = np.zeros(256, bool)
_CLOSING[list(b"}]")] = True


def decode_as_lines(
    decode_lines: Callable[[pa.Buffer], list[Any]], documents: pa.Array
) -> list[Any] | None:
    """Decode all documents together; None if they could be confused with each other.

    `decode_lines` treats a line feed as white space, so two truncated documents could be one value,
    and a document with two values could hide this error. Here each document is an object or a list
    from its first byte to its last, without a line feed: a truncated document then ends in a
    closing bracket, after which the next opening bracket is an error. So each document has at least
    one value, and an equal number of values and documents means one each.

    Args:
        decode_lines: The method of a decoder.
        documents: A `binary` array without nulls.

    Raises:
        ValueError: `decode_lines` has raised it, for invalid JSON.
    """
    count = len(documents)
    if not count or not isinstance(documents, pa.BinaryArray):
        return None
    _, places, content = documents.buffers()
    ends = np.frombuffer(places, np.int32)[documents.offset : documents.offset + count + 1]
    if int(ends[-1]) - int(ends[0]) + count > _MOST_BYTES or not (np.diff(ends) > 1).all():
        return None
    data = np.frombuffer(content, np.uint8)
    if not (_OPENING[data[ends[:-1]]].all() and _CLOSING[data[ends[1:] - 1]].all()):
        return None
    whole = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), documents)
    lines = pc.binary_join(whole, b"\n")[0].as_buffer()
    if np.count_nonzero(np.frombuffer(lines, np.uint8) == _LINE_FEED) != count - 1:
        return None
    found = decode_lines(lines)
    return found if len(found) == count else None


def encode_as_lines(
    encode_lines: Callable[[Sequence[Any]], bytes], values: Sequence[Any]
) -> pa.Array | None:
    """Encode all values together; None if they cannot be separated, or are too large.

    Raw JSON may contain line feeds.

    Args:
        encode_lines: The method of an encoder.
        values: The values, without None.

    Raises:
        TypeError: `encode_lines` has raised it; it may also raise other exceptions.
    """
    lines = encode_lines(values)
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == _LINE_FEED)
    if len(lines) > _MOST_BYTES or len(ends) != len(values):
        return None
    places = np.zeros(len(values) + 1, np.int32)
    places[1:] = ends + 1
    buffers = [None, pa.py_buffer(places), pa.py_buffer(lines)]
    found = pa.BinaryArray.from_buffers(pa.binary(), len(values), buffers)
    return pc.binary_slice(found, 0, -1)
