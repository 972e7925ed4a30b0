"""Phases of batches and tasks as parts of a bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kstreams.batch.worker_times import TASK_PHASES

__all__ = ("BATCH_PHASES", "TASK_PHASES", "Phase", "phases_of")

BATCH_PHASES = ("wait", "plan", "job", "commit", "publish")
"""Of a batch, in their order."""


@dataclass(frozen=True)
class Phase:
    """A part of a bar.

    Attributes:
        name: Of the phase.
        seconds: How long it took.
        start: Where it begins, 0 to 1.
        part: How much of the bar it is.
    """

    name: str
    seconds: float
    start: float
    part: float


def phases_of(
    seconds: Mapping[str, float], order: Sequence[str], whole: float | None = None
) -> list[Phase]:
    """Return phases one after another; those that took no time are left out.

    Args:
        seconds: How long each took.
        order: Their order.
        whole: What the whole bar stands for; the sum of the phases by default.
    """
    scale = max(sum(seconds.values()) if whole is None else whole, 1e-9)
    found: list[Phase] = []
    start = 0.0
    for name in order:
        part = min(seconds.get(name, 0.0) / scale, 1.0 - start)
        if part > 0:
            found.append(Phase(name, seconds[name], start, part))
            start += part
    return found
