"""Retries while a system does not answer."""

from __future__ import annotations

import time
from datetime import timedelta

from kstreams.errors import KStreamsError

__all__ = ("Patience",)

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class Patience:
    """Returns the pause before each retry, and raises the error when retries must end.

    Args:
        give_up_after: The maximum time from the first failure to the last retry.
    """

    def __init__(self, give_up_after: timedelta) -> None:
        self._longest_s = give_up_after.total_seconds()
        self._since: float | None = None
        self._pause_s = _FIRST_PAUSE_S

    def renew(self) -> None:
        """Reset the pauses and the time limit, because the system has answered."""
        self._since, self._pause_s = None, _FIRST_PAUSE_S

    def pause(self, error: KStreamsError) -> float:
        """Return the seconds until the next retry; raise the error after `give_up_after`."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if now - self._since >= self._longest_s:
            raise error
        pause, self._pause_s = self._pause_s, min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return pause
