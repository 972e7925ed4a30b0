"""Joiners: functions of two values, with a policy for values without a partner."""

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
"""The unmatched records that have a result: none, those of the left side, or all."""

VL = TypeVar("VL")
"""Type of the left values."""
VR = TypeVar("VR")
"""Type of the right values."""
VO = TypeVar("VO")
"""Type of the results."""
HOW = TypeVar("HOW")
"""`OneSided` or `TwoSided`."""


class OneSided:
    """Marks inner and left joiners for type checkers."""


class TwoSided:
    """Marks outer joiners for type checkers: a stream-table join accepts no outer joiner."""


@checks_options
@dataclass(frozen=True)
class Joiner(Generic[VL, VR, VO, HOW]):
    """A function of two values, and the policy for a value without a partner.

    HOW is a phantom type: if outer joiners were a subclass, or part of a union, type checkers could
    not infer the types of lambdas.

    Attributes:
        function: Returns the result of a left and a right value; one value may be None if `how`
            allows it.
        how: The records without a partner that have a result.
    """

    function: Callable[[Any, Any], Any]
    how: How

    def keeps(self, *, left: bool) -> bool:
        """Return whether an unmatched value of the given side has a result."""
        return self.how == "outer" or (left and self.how == "left")

    def row(self, left: VL | None, right: VR | None) -> VO | None:
        """Return the joined value of two table rows; None if there is no result."""
        if left is None:
            if right is None or self.how != "outer":
                return None
        elif right is None and self.how == "inner":
            return None
        result: VO = self.function(left, right)
        return result

    def makes_rows(self, left: Bools, right: Bools) -> Bools:
        """Return the mask of pairs for which `row` has a result.

        Args:
            left: The mask of pairs with a left value.
            right: The mask of pairs with a right value.
        """
        if self.how == "inner":
            return left & right
        return left if self.how == "left" else left | right


class JoinerSupplier(Protocol[VL, VR, VO, HOW]):
    """Creates a joiner.

    Operators take a supplier instead of a joiner for the sake of type checkers: they infer callable
    arguments last, and so can infer the types of the joiner's lambda.
    """

    def __call__(self) -> Joiner[VL, VR, VO, HOW]:
        """Return the joiner."""
        ...


def inner(function: Callable[[VL, VR], VO]) -> JoinerSupplier[VL, VR, VO, OneSided]:
    """Join records that have a partner; records without one have no result."""
    joiner: Joiner[VL, VR, VO, OneSided] = Joiner(function, "inner")
    return lambda: joiner


def left(function: Callable[[VL, VR | None], VO]) -> JoinerSupplier[VL, VR, VO, OneSided]:
    """Join every left value; the right value is None if there is no partner."""
    joiner: Joiner[VL, VR, VO, OneSided] = Joiner(function, "left")
    return lambda: joiner


def outer(function: Callable[[VL | None, VR | None], VO]) -> JoinerSupplier[VL, VR, VO, TwoSided]:
    """Join every value of both sides; the other value is None if there is no partner."""
    joiner: Joiner[VL, VR, VO, TwoSided] = Joiner(function, "outer")
    return lambda: joiner
