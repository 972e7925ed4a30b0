"""Exact sums of doubles, from which values can be removed.

A double is an integer divided by a power of two, and so is any sum of doubles. In this form, `a + b
- b` is exactly `a`, for any order and number of operations. An aggregator whose states are rounded
sums has an attribute `unrounded`: an aggregator of the same records whose states are exact sums and
whose results are the states of the rounding aggregator.
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
"""The power of two, and the numbers of infinities, negative infinities and NaNs."""


class ExactSum(NamedTuple):
    """A sum of doubles and integers; equal sums are equal objects.

    Attributes:
        numerator: The numerator; an odd integer unless the power is 0.
        power: The exponent: the sum is the numerator divided by two to this power.
        infinities: The number of positive infinities in the sum.
        negative_infinities: The number of negative infinities in the sum.
        nans: The number of NaNs in the sum.
    """

    numerator: int = 0
    power: int = 0
    infinities: int = 0
    negative_infinities: int = 0
    nans: int = 0

    def plus(self, value: float, times: int = 1) -> ExactSum:
        """Return the sum plus a number; minus the number if `times` is -1."""
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
        """Return the sum plus the square of a number; minus the square if `times` is -1."""
        if not math.isfinite(value):
            return self.plus(value * value, times)
        own, divisor = value.as_integer_ratio()
        return self.plus_ratio(times * own * own, 2 * (divisor.bit_length() - 1))

    def plus_ratio(self, numerator: int, power: int) -> ExactSum:
        """Return the sum plus `numerator` divided by two to the `power`."""
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
        """Return the sum of two sums."""
        total = self.plus_ratio(other.numerator, other.power)
        specials = zip(self[2:], other[2:], strict=True)
        return ExactSum(*total[:2], *(one + more for one, more in specials))

    def rounded(self) -> float:
        """Return the nearest double: never -0.0; infinite if the sum is too large for a double."""
        if not self.is_finite:
            if self.nans or (self.infinities and self.negative_infinities):
                return math.nan
            return math.inf if self.infinities else -math.inf
        return nearest(self.fraction())

    @property
    def is_finite(self) -> bool:
        """Whether all numbers in the sum are finite."""
        return not (self.infinities or self.negative_infinities or self.nans)

    def fraction(self) -> Fraction:
        """Return the exact sum of the finite numbers."""
        return Fraction(self.numerator, 1 << self.power)


NOTHING = ExactSum()
"""The sum of no numbers."""


def nearest(number: Fraction) -> float:
    """Return the double that is nearest to a fraction; infinite if it is too large for a double."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


class ExactSumSerde(Serde[ExactSum]):
    """Encodes a sum: power (2 bytes), the three counts (8 bytes each), and the numerator.

    All numbers are big-endian. The numerator is signed and has at least one byte.
    """

    name = "exact-sum"
    type_token = ExactSum
    immutable = True
    hashes_by_bytes = True

    def serialize(self, value: ExactSum) -> bytes:
        """Serialize a sum.

        Raises:
            SerializationError: A count is negative or too large, because a value was removed that
                was never added.
        """
        numerator, *head = value
        try:
            packed = _HEAD.pack(*head)
        except struct.error as exc:
            raise SerializationError(
                f"a count of {value!r} is negative or too large",
                hint="remove only values that were added before.",
            ) from exc
        return packed + numerator.to_bytes(numerator.bit_length() // 8 + 1, "big", signed=True)

    def deserialize(self, data: bytes) -> ExactSum:
        """Decode a sum; raises `DeserializationError` for fewer than 27 bytes."""
        if len(data) <= _HEAD.size:
            raise DeserializationError(f"the bytes of an exact sum are truncated: {data[:40]!r}")
        head = _HEAD.unpack_from(data)
        return ExactSum(int.from_bytes(data[_HEAD.size :], "big", signed=True), *head)

    def __eq__(self, other: object) -> bool:
        """Return whether the other object is also an `ExactSumSerde`."""
        return isinstance(other, ExactSumSerde)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)


EXACT_SUM = ExactSumSerde()
"""Serde of exact sums."""


def unrounded(aggregator: object) -> Any:  # noqa: ANN401  # an InvertibleAggregator of any types
    """Return the exact counterpart of a rounding aggregator; None for any other aggregator.

    The states of the exact aggregator are stored next to its results, which are the states of the
    rounding aggregator.
    """
    return getattr(aggregator, "unrounded", None)
