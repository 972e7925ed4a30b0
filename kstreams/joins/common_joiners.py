"""Ready-made joiner functions; columnar joins do not call them once per record."""

from __future__ import annotations

from collections.abc import Mapping

from kstreams.joins.joiner import VL, VR

__all__ = ("left_value", "merged", "pair", "right_value")


def pair(left: VL, right: VR) -> tuple[VL, VR]:
    """Return both values as a tuple."""
    return left, right


def left_value(left: VL, right: object) -> VL:
    """Return the left value. `inner(left_value)` keeps the left values that have a partner."""
    return left


def right_value(left: object, right: VR) -> VR:
    """Return the right value."""
    return right


def merged(left: Mapping[str, VL] | None, right: Mapping[str, VR] | None) -> dict[str, VL | VR]:
    """Merge the fields of both values; the right value's fields win. None counts as empty."""
    return {**(left or {}), **(right or {})}
