"""How many kills a series has: a few within `make test`, twenty within `make kills`."""

from __future__ import annotations

import os
from itertools import cycle, islice

__all__ = ("first_kills",)


def first_kills(plan: tuple[tuple[str, str], ...], few: int) -> tuple[tuple[str, str], ...]:
    """Return a plan's first kills, from its beginning again where it ends.

    Args:
        plan: Targets and the phases in which they are killed.
        few: How many, unless `KSTREAMS_KILLS` says.
    """
    return tuple(islice(cycle(plan), int(os.environ.get("KSTREAMS_KILLS", few))))
