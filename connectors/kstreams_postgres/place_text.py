"""The text of a position in a plan: two bounds and two offsets."""

from __future__ import annotations

import re

from kstreams.errors import StateCorruptError

__all__ = ("place_numbers", "place_text")

_FORM = re.compile(r"(\d{1,19})-(\d{1,19}):(\d{1,18})-(\d{1,18})")


def place_text(low: int, high: int, first: int, stop: int) -> str:
    """Return a range of transactions or LSNs, and a range of offsets, as `LOW-HIGH:FIRST-STOP`."""
    return f"{low}-{high}:{first}-{stop}"


def place_numbers(text: str, where: str) -> tuple[int, int, int, int]:
    """Parse the result of `place_text`: return low, high, first and stop.

    Args:
        text: The text in a plan.
        where: The source in the error: `table` or `slot`.

    Raises:
        StateCorruptError: The text is not in this format.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise StateCorruptError(
            f"the checkpoint has {text[:80]!r} where a position in a {where} was expected"
        )
    low, high, first, stop = map(int, found.groups())
    return low, high, first, stop
