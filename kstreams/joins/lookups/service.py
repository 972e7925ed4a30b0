"""The definition of an external service that answers questions."""

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
    """A worker's cache of a service's answers.

    Misses are cached too, with a separate time to live, because an answer may become available
    later.

    Args:
        max_rows: Maximum number of answers; the least recently used one is removed first.
        ttl: Time to live of an answer, by the recorded wall time of batches.
        misses_ttl: Time to live of a miss.

    Raises:
        ValueError: A number or a span is not positive.
    """

    max_rows: int
    ttl: timedelta
    misses_ttl: timedelta = timedelta(seconds=1)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if self.max_rows < 1:
            raise ValueError(f"max_rows is {self.max_rows}, expected 1 or more")
        positive_ms("ttl", self.ttl)
        positive_ms("misses_ttl", self.misses_ttl)


@dataclass(frozen=True)
class Service(Generic[Q, A]):
    """An external service that answers many questions in one call; see `look_up`.

    Args:
        ask: Takes distinct questions, and returns the answers by question, without questions that
            have no answer. Runs on a worker, whose calls all share one event loop.
        batch: Maximum number of questions in one call.
        at_once: Maximum number of concurrent calls of one task.
        timeout: Maximum duration of a call, after which it is canceled.
        retries: Maximum number of retries of a failed call.
        backoff: Delay before the first retry; it doubles for each further retry, up to 10 s.
        retry_on: Exceptions that are retried, in addition to timeouts; other exceptions fail at
            once.
        cache: The cache of answers; None calls the service in each batch.

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
        """Check the arguments."""
        for name, least in (("batch", 1), ("at_once", 1), ("retries", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, expected {least} or more")
        positive_ms("timeout", self.timeout)
        if self.backoff < timedelta(0):
            raise ValueError(f"backoff is {self.backoff}: a delay cannot be negative")
