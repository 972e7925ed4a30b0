"""Encoding of numbers of variable length."""

from __future__ import annotations

__all__ = ("put_long",)

_BITS = (1 << 64) - 1


def put_long(out: bytearray, number: int) -> None:
    """Append the encoding of a 64-bit number as `int` or `long`."""
    number = ((number << 1) ^ (number >> 63)) & _BITS
    while number > 0x7F:
        out.append((number & 0x7F) | 0x80)
        number >>= 7
    out.append(number)
