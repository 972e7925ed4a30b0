"""A party outside that answers questions: a definition, as topics and stores are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.times import positive_ms

__all__ = ("A", "LookupCache", "Q", "Service")

Q = TypeVar("Q")
"""Type of the questions."""
A = TypeVar("A")
"""Type of the answers."""


@dataclass(frozen=True)
class LookupCache:
    """What a worker remembers of a service's answers.

    Misses are remembered too, by a time of their own: what is not there yet may come.

    Args:
        max_rows: How many answers at most; what was not asked for longest goes first.
        ttl: How long an answer holds, by the recorded wall time of batches.
        misses_ttl: How long it holds that there is none.

    Raises:
        ValueError: A number or a span is not positive.
    """

    max_rows: int
    ttl: timedelta
    misses_ttl: timedelta = timedelta(seconds=1)

    def __post_init__(self) -> None:
        """Check what was given."""
        if self.max_rows < 1:
            raise ValueError(f"a cache has at least 1 row, not {self.max_rows}")
        positive_ms("ttl", self.ttl)
        positive_ms("misses_ttl", self.misses_ttl)


@dataclass(frozen=True)
class Service(Generic[Q, A]):
    """A party outside that answers many questions at once; see `look_up`.

    Args:
        ask: Asks some questions, all different, and returns the answers by question; one
            that is not among them has none. Runs on a worker, on one event loop that all
            calls of the worker share.
        batch: How many questions one call has at most.
        at_once: How many calls are under way at the same time in one task.
        timeout: How long one call may take; then it is broken off.
        retries: Calls after one that has failed; 0 calls once.
        backoff: Delay before the second call; it doubles from call to call, up to 10 s.
        retry_on: Exceptions that are worth another call; others fail at once. A time-out
            is, in any case.
        cache: What is remembered of answers; None asks again in each batch.

    Raises:
        ValueError: A number or a span is out of its range.
    """

    ask: Callable[[Sequence[Q]], Awaitable[Mapping[Q, A]]]
    batch: int = 100
    at_once: int = 16
    timeout: timedelta = timedelta(seconds=10)
    retries: int = 3
    backoff: timedelta = timedelta(milliseconds=100)
    retry_on: tuple[type[Exception], ...] = (OSError, asyncio.TimeoutError)
    cache: LookupCache | None = None

    def __post_init__(self) -> None:
        """Check what was given."""
        for name, least in (("batch", 1), ("at_once", 1), ("retries", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is at least {least}, not {getattr(self, name)}")
        positive_ms("timeout", self.timeout)
        if self.backoff < timedelta(0):
            raise ValueError("a delay between calls cannot be negative")
