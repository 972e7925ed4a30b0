"""Phases of batches and tasks as parts of a bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kstreams.batch.messages.worker_times import TASK_PHASES

__all__ = ("BATCH_PHASES", "TASK_PHASES", "Phase", "phases_of")

BATCH_PHASES = ("wait", "plan", "job", "commit", "publish")
"""The phases of a batch, in order."""


@dataclass(frozen=True)
class Phase:
    """A phase of a batch or task, drawn as a part of a bar.

    Attributes:
        name: The name of the phase.
        seconds: The duration of the phase.
        start: The position where the part starts in the bar, 0 to 1.
        part: The length of the part, 0 to 1 of the bar.
    """

    name: str
    seconds: float
    start: float
    part: float


def phases_of(
    seconds: Mapping[str, float], order: Sequence[str], whole: float | None = None
) -> list[Phase]:
    """Return the parts of a bar in order, without phases of zero duration.

    Args:
        seconds: The duration of each phase.
        order: The order of the phases.
        whole: The duration of the whole bar; the sum of the phases by default.
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
