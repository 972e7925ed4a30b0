"""Ready functions for joiners; by columns they make no object a record."""

from __future__ import annotations

from collections.abc import Mapping

from kstreams.joins.joiner import VL, VR

__all__ = ("left_value", "merged", "pair", "right_value")


def pair(left: VL, right: VR) -> tuple[VL, VR]:
    """Return both values."""
    return left, right


def left_value(left: VL, right: object) -> VL:
    """Return the left value: with `inner(left_value)`, the left values that have a partner."""
    return left


def right_value(left: object, right: VR) -> VR:
    """Return the right value."""
    return right


def merged(left: Mapping[str, VL] | None, right: Mapping[str, VR] | None) -> dict[str, VL | VR]:
    """Return the fields of both; of equal names that of the right side, as far as it is there."""
    return {**(left or {}), **(right or {})}
