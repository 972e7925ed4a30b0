"""The durability of a peer: delivery guarantee, commits, and place of the state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ("Delivery", "Durability")

Delivery = Literal["exactly-once", "at-least-once", "none"]
"""The guarantee after a crash: `none` loses counts, or counts records twice."""


@dataclass(frozen=True)
class Durability:
    """The guarantee of a peer in the benchmark's configuration, for the report.

    Attributes:
        delivery: The guarantee for results after a crash.
        commits: The time between two commits, or the event that starts one.
        state: The place of the state, and the copy that a restart reads.
    """

    delivery: Delivery
    commits: str
    state: str
