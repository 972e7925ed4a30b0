"""Sums of doubles without rounding, from which values can be taken out again.

A double is an integer over a power of two, and so is any sum of doubles. Kept like that,
`a + b - b` is `a` to the last bit, in whichever order it was done, however often. An aggregator
whose states are rounded sums has an attribute `unrounded`: an aggregator of the same records
whose states are such sums and whose results are the states of the other.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any, NamedTuple

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde

__all__ = ("EXACT_SUM", "NOTHING", "ExactSum", "ExactSumSerde", "nearest", "unrounded")

_HEAD = struct.Struct(">HQQQ")
"""Power of two, and how many infinities, negative ones and NaNs there are."""


class ExactSum(NamedTuple):
    """A sum of doubles and integers; equal sums are equal.

    Attributes:
        numerator: An odd integer, or the power is 0.
        power: The sum is the numerator over two to this power.
        infinities: How many positive infinities are in it.
        negative_infinities: How many negative ones.
        nans: How many NaNs.
    """

    numerator: int = 0
    power: int = 0
    infinities: int = 0
    negative_infinities: int = 0
    nans: int = 0

    def plus(self, value: float, times: int = 1) -> ExactSum:
        """Return the sum with a number more; with one less if `times` is -1."""
        if math.isfinite(value):
            own, divisor = value.as_integer_ratio()
            return self.plus_ratio(times * own, divisor.bit_length() - 1)
        numerator, power, infinities, negative, nans = self
        if math.isnan(value):
            return ExactSum(numerator, power, infinities, negative, nans + times)
        if value > 0:
            return ExactSum(numerator, power, infinities + times, negative, nans)
        return ExactSum(numerator, power, infinities, negative + times, nans)

    def plus_square(self, value: float, times: int = 1) -> ExactSum:
        """Return the sum with the square of a number more, or less."""
        if not math.isfinite(value):
            return self.plus(value * value, times)
        own, divisor = value.as_integer_ratio()
        return self.plus_ratio(times * own * own, 2 * (divisor.bit_length() - 1))

    def plus_ratio(self, numerator: int, power: int) -> ExactSum:
        """Return the sum with an integer over a power of two more."""
        if power > self.power:
            total = (self.numerator << (power - self.power)) + numerator
        else:
            power, numerator = self.power, numerator << (self.power - power)
            total = self.numerator + numerator
        if power and not total & 1:
            zeros = (total & -total).bit_length() - 1 if total else power
            spare = min(zeros, power)
            total, power = total >> spare, power - spare
        return ExactSum(total, power, *self[2:])

    def merged(self, other: ExactSum) -> ExactSum:
        """Return the sum of both."""
        total = self.plus_ratio(other.numerator, other.power)
        specials = zip(self[2:], other[2:], strict=True)
        return ExactSum(*total[:2], *(one + more for one, more in specials))

    def rounded(self) -> float:
        """Return the double that is nearest: never -0.0, and infinite where it is too large."""
        if not self.is_finite:
            if self.nans or (self.infinities and self.negative_infinities):
                return math.nan
            return math.inf if self.infinities else -math.inf
        return nearest(self.fraction())

    @property
    def is_finite(self) -> bool:
        """Whether it has finite numbers only."""
        return not (self.infinities or self.negative_infinities or self.nans)

    def fraction(self) -> Fraction:
        """Return the sum of the finite numbers."""
        return Fraction(self.numerator, 1 << self.power)


NOTHING = ExactSum()
"""The sum of no numbers."""


def nearest(number: Fraction) -> float:
    """Return the double that is nearest to a fraction; infinite where it is too large."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


class ExactSumSerde(Serde[ExactSum]):
    """26 bytes of power and counts, then the numerator (big-endian, two's complement)."""

    name = "exact-sum"
    type_token = ExactSum
    immutable = True
    hashes_by_bytes = True

    def serialize(self, value: ExactSum) -> bytes:
        """Convert; a sum that has had taken out what was never in it may be refused."""
        numerator, *head = value
        try:
            packed = _HEAD.pack(*head)
        except struct.error as exc:
            raise SerializationError(f"expected counts of what was added, got {value!r}") from exc
        return packed + numerator.to_bytes(numerator.bit_length() // 8 + 1, "big", signed=True)

    def deserialize(self, data: bytes) -> ExactSum:
        """Convert back; fewer than 27 bytes are a `DeserializationError`."""
        if len(data) <= _HEAD.size:
            raise DeserializationError(f"an exact sum is cut short: {data[:40]!r}")
        head = _HEAD.unpack_from(data)
        return ExactSum(int.from_bytes(data[_HEAD.size :], "big", signed=True), *head)

    def __eq__(self, other: object) -> bool:
        """There is one format."""
        return isinstance(other, ExactSumSerde)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)


EXACT_SUM = ExactSumSerde()
"""Serde of exact sums."""


def unrounded(aggregator: object) -> Any:  # noqa: ANN401  # an InvertibleAggregator of any types
    """Return the aggregator of the same records that does not round, or None if there is none.

    Its states are kept beside those of the other, which are its results.
    """
    return getattr(aggregator, "unrounded", None)
