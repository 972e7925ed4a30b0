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
"""Takes bytes, the offset where a value begins, and the depth of enclosing records; returns the
value and the offset after it. Raises `Malformed`, or an IndexError if the bytes end early."""


class Step(ABC):
    """Reads values of one kind.

    Attributes:
        read: Reads one value: a function of the type `Read`.
        least: The minimum number of bytes of a value.
        arrow: The type of the columns; None if values can only be read one by one.
        passable: Whether `skip` can skip many values at once.
    """

    read: Read
    least: int
    arrow: pa.DataType | None
    passable: bool = True

    @abstractmethod
    def column(self, cursor: Cursor) -> pa.Array:
        """Read a value of each row; return a column with the type of the attribute `arrow`.

        Raises:
            Malformed: A value is invalid; reading the values one by one shows which one.
        """

    def skip(self, cursor: Cursor) -> None:
        """Skip a value of each row, without further checks of the value.

        Raises:
            Malformed: The end of a value cannot be found.
        """
        self.column(cursor)


def read_long(data: bytes, place: int, _: int = 0) -> tuple[int, int]:
    """Read a number of variable length; return the number and the offset after it."""
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
    """Read the number of items in the next block of an array or a map; 0 ends the value.

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
            raise Malformed(f"expected a block size of 0 to {len(data) - place} bytes, got {size}")
    if count * least > len(data) - place:
        raise Malformed(f"a block has {count} items, but only {len(data) - place} bytes are left")
    return count, place
