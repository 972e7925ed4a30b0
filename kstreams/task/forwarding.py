"""Forwarding of a record or a table to all its receivers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kstreams.task.two_input_join import Joint

__all__ = ("settled", "to_each")

T = TypeVar("T")
"""The forwarded type: a record, or a table of records."""


def to_each(calls: Sequence[Callable[[T], None]]) -> Callable[[T], None]:
    """Return a function that calls each function in turn; a single one is returned unchanged."""
    if len(calls) == 1:
        return calls[0]

    def hand_on(given: T) -> None:
        for call in calls:
            call(given)

    return hand_on


def settled(call: Callable[[T], None], joints: Sequence[Joint]) -> Callable[[T], None]:
    """Return a function that calls `call`, then `end` of each joint.

    A joint buffers the records of its join during the call, and `end` joins both inputs.
    """
    if not joints:
        return call

    def hand_on(given: T) -> None:
        for joint in joints:
            joint.begin()
        call(given)
        for joint in joints:
            joint.end()

    return hand_on
