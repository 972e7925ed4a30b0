"""The interface of a step, which creates values of one type from the bytes of another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

from kstreams_avro.datum import Malformed
from kstreams_avro.steps.cursor import Cursor

__all__ = ("Read", "Step", "read_count", "read_long")

Read: TypeAlias = Callable[[bytes, int, int], tuple[Any, int]]
"""Takes bytes, the place where a value begins, and how many records are around it; returns the
value and the place behind it. Raises `Malformed`, or an IndexError where the bytes end."""


class Step(ABC):
    """One kind of value.

    Attributes:
        read: Makes one value.
        least: At least so many bytes are one value.
        arrow: Type of the columns; None where there are none, only single values.
        passable: Whether `skip` can pass over many values at once.
    """

    read: Read
    least: int
    arrow: pa.DataType | None
    passable: bool = True

    @abstractmethod
    def column(self, cursor: Cursor) -> pa.Array:
        """Make a value for each row, as a column of `arrow`.

        Raises:
            Malformed: One of them is wrong: reading them one by one shows which.
        """

    def skip(self, cursor: Cursor) -> None:
        """Pass over a value of each row, checking no more than where it ends.

        Raises:
            Malformed: As `column`.
        """
        self.column(cursor)


def read_long(data: bytes, place: int, _: int = 0) -> tuple[int, int]:
    """Read a number of variable length."""
    octet = data[place]
    place += 1
    if octet < 0x80:
        return (octet >> 1) ^ -(octet & 1), place
    number = octet & 0x7F
    shift = 7
    while True:
        octet = data[place]
        place += 1
        number |= (octet & 0x7F) << shift
        if octet < 0x80:
            break
        shift += 7
        if shift > 63:
            raise Malformed("a number has more than 10 bytes")
    if number >> 64:
        raise Malformed("a number has more than 64 bits")
    return (number >> 1) ^ -(number & 1), place


def read_count(data: bytes, place: int, least: int) -> tuple[int, int]:
    """Read the number of items in the next block of an array or a map; 0 ends it.

    Args:
        data: The bytes.
        place: The start of the block.
        least: The minimum bytes of an item.
    """
    count, place = read_long(data, place)
    if not count:
        return 0, place
    if count < 0:  # then the block's size in bytes follows
        count = -count
        size, place = read_long(data, place)
        if not 0 <= size <= len(data) - place:
            raise Malformed(f"a block of {size} bytes, where {len(data) - place} are left")
    if count * least > len(data) - place:
        raise Malformed(f"a block of {count} items, where {len(data) - place} bytes are left")
    return count, place
