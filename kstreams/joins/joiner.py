"""Functions of two values, and the results of records without a partner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from kstreams._types import Bools
from kstreams.options import checks_options

__all__ = (
    "HOW",
    "VL",
    "VO",
    "VR",
    "How",
    "Joiner",
    "JoinerSupplier",
    "OneSided",
    "TwoSided",
    "inner",
    "left",
    "outer",
)

How = Literal["inner", "left", "outer"]
"""The records without a partner that have a result: none, those of the left side, all."""

VL = TypeVar("VL")
"""Type of the left values."""
VR = TypeVar("VR")
"""Type of the right values."""
VO = TypeVar("VO")
"""Type of the results."""
HOW = TypeVar("HOW")
"""`OneSided` or `TwoSided`."""


class OneSided:
    """Marks inner and left joiners, for type checkers."""


class TwoSided:
    """Marks outer joiners, for type checkers: there are outer joins of equals only."""


@checks_options
@dataclass(frozen=True)
class Joiner(Generic[VL, VR, VO, HOW]):
    """A function of two values, and the policy for a value without a partner.

    HOW is a phantom type: with a subclass for outer joiners, or a union, type checkers infer no
    lambda.

    Attributes:
        function: Returns a result for a left and a right value; one of them may be None if `how`
            allows it.
        how: The records without a partner that have a result.
    """

    function: Callable[[Any, Any], Any]
    how: How

    def keeps(self, *, left: bool) -> bool:
        """Return whether a value of one side gives a result without a partner."""
        return self.how == "outer" or (left and self.how == "left")

    def row(self, left: VL | None, right: VR | None) -> VO | None:
        """Return the row that two rows of tables make; None is no row."""
        if left is None:
            if right is None or self.how != "outer":
                return None
        elif right is None and self.how == "inner":
            return None
        result: VO = self.function(left, right)
        return result

    def makes_rows(self, left: Bools, right: Bools) -> Bools:
        """Return which rows `row` makes one of, by whether there are a left and a right one."""
        if self.how == "inner":
            return left & right
        return left if self.how == "left" else left | right


class JoinerSupplier(Protocol[VL, VR, VO, HOW]):
    """Makes a joiner. Checkers infer arguments that are callable last, so also their lambdas."""

    def __call__(self) -> Joiner[VL, VR, VO, HOW]:
        """Return the joiner."""
        ...


def inner(function: Callable[[VL, VR], VO]) -> JoinerSupplier[VL, VR, VO, OneSided]:
    """Join records that have a partner; records without one have no result."""
    joiner: Joiner[VL, VR, VO, OneSided] = Joiner(function, "inner")
    return lambda: joiner


def left(function: Callable[[VL, VR | None], VO]) -> JoinerSupplier[VL, VR, VO, OneSided]:
    """Join every left value, with None where it has no partner."""
    joiner: Joiner[VL, VR, VO, OneSided] = Joiner(function, "left")
    return lambda: joiner


def outer(function: Callable[[VL | None, VR | None], VO]) -> JoinerSupplier[VL, VR, VO, TwoSided]:
    """Join every value of both sides, with None where it has no partner."""
    joiner: Joiner[VL, VR, VO, TwoSided] = Joiner(function, "outer")
    return lambda: joiner
