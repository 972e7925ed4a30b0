"""Retries of requests that boto3 does not retry, or gives up too early."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import SystemRandom
from typing import TypeVar

from kstreams_s3.failures import may_pass

__all__ = ("Unsettled", "retried")

T = TypeVar("T")
"""The result type of a request."""

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0
_JITTER = SystemRandom()  # not a seed's: workers that were forked must not pause in step


class Unsettled(Exception):
    """A request failed for a transient reason; never leaves this package."""


def retried(request: Callable[[], T], give_up_after_s: float) -> T:
    """Return the result of a request with retries; pauses double and are partly random.

    boto3 retries each call a few times itself. It does not retry when a reply breaks off during
    reading, or after a 409 of a conditional write, and it gives up early when many requests fail at
    the same time.

    Args:
        request: A request that is safe to repeat.
        give_up_after_s: The maximum time until the last retry, in seconds.
    """
    end = time.monotonic() + give_up_after_s
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return request()
        except Exception as error:
            passing = isinstance(error, Unsettled) or may_pass(error)
            if not passing or time.monotonic() + pause > end:
                raise
        time.sleep(pause * _JITTER.uniform(0.5, 1.0))
        pause = min(2 * pause, _LONGEST_PAUSE_S)
