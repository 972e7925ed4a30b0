"""Number of kills in a series: a few in `make test`, twenty in `make kills`."""

from __future__ import annotations

import os
from itertools import cycle, islice

__all__ = ("first_kills",)


def first_kills(plan: tuple[tuple[str, str], ...], few: int) -> tuple[tuple[str, str], ...]:
    """Return a plan's first kills, repeated from the start if the plan is shorter.

    Args:
        plan: Targets and the phases in which they are killed.
        few: Number of kills, unless `KSTREAMS_KILLS` is set.
    """
    return tuple(islice(cycle(plan), int(os.environ.get("KSTREAMS_KILLS", few))))
