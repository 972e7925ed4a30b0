"""Retries of calls to external systems, and the error if all calls fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from kstreams.clock import to_ms
from kstreams.errors import ProcessingError
from kstreams.quoting import kind_of, text_of, traceback_of

__all__ = ("Retries", "gave_up")


@dataclass(frozen=True)
class Retries:
    """The retry policy of calls to external systems.

    The delays are `backoff`, twice `backoff`, four times `backoff`, and so on, up to `max_backoff`;
    without jitter, so that a replay has the same delays.

    Args:
        count: The maximum number of retries.
        backoff: The delay before the first retry.
        max_backoff: The maximum delay between two calls.
        retry_on: Exceptions that are retried; other exceptions fail at once.
        timeout: The maximum time for all calls and delays of one record, after which no call
            starts. None: no limit.
    """

    count: int = 3
    backoff: timedelta = timedelta(milliseconds=100)
    max_backoff: timedelta = timedelta(seconds=10)
    retry_on: tuple[type[Exception], ...] = (OSError,)
    timeout: timedelta | None = None

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError(f"retries is {self.count}, expected 0 or more")
        for name, delay in (("backoff", self.backoff), ("max_backoff", self.max_backoff)):
            if delay < timedelta(0):
                raise ValueError(f"{name} is {delay}: a delay cannot be negative")
        if self.timeout is not None and self.timeout <= timedelta(0):
            raise ValueError(f"timeout is {self.timeout}, expected more than 0")

    def delays_ms(self) -> Iterator[int]:
        """Yield the delay before each retry, ms."""
        longest = to_ms(self.max_backoff)
        delay = to_ms(self.backoff)
        for _ in range(self.count):
            yield min(delay, longest)
            delay = min(delay * 2, longest)


def gave_up(exc: Exception, calls: int, reason: str) -> ProcessingError:
    """Return the error for a record whose last call failed.

    Args:
        exc: The exception of the last call.
        calls: The number of calls.
        reason: The reason why the call is not repeated, such as "no retries are left".
    """
    times = "1 call" if calls == 1 else f"{calls} calls"
    return ProcessingError(
        f"the called function failed after {times}, and {reason}: {kind_of(exc)}: {text_of(exc)}",
        cause_type=f"{type(exc).__module__}.{type(exc).__qualname__}",
        cause_traceback=traceback_of(exc),
        hint="to continue without such records, set on_error='skip' or on_error=DeadLetter(topic) "
        "on the source.",
    )
