"""Runs the clean-ups of a query while its next batches run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

__all__ = ("SweepThread",)

_LOG = logging.getLogger(__name__)


class SweepThread:
    """Runs one clean-up at a time in a thread.

    A clean-up deletes only objects that the retained commits at its begin do not need, so later
    batches do not depend on it. Deleting 50 commits, plans and packs takes longer than a batch.

    Args:
        name: The name of the query, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None

    def begin(self, sweep: Callable[[], None]) -> None:
        """Start a clean-up, after waiting for the previous one.

        Raises:
            KStreamsError: The previous clean-up failed.
        """
        self._join(None)
        self.check()
        self._thread = threading.Thread(
            target=self._run, args=(sweep,), name=f"sweep-{self._name}", daemon=True
        )
        self._thread.start()

    def check(self) -> None:
        """Raise the error of a clean-up that has failed.

        Raises:
            KStreamsError: The error.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def finish(self, timeout_s: float) -> None:
        """Wait for the running clean-up; log an error of it.

        Args:
            timeout_s: The maximum time to wait, in seconds.
        """
        if not self._join(timeout_s):
            _LOG.warning("query %s: the clean-up has not ended", self._name)
        failure, self._failure = self._failure, None
        if failure is not None:
            _LOG.warning("query %s: the clean-up failed: %s", self._name, failure)

    def _join(self, timeout_s: float | None) -> bool:
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def _run(self, sweep: Callable[[], None]) -> None:
        try:
            sweep()
        except Exception as exc:  # noqa: BLE001  # `check` raises it
            self._failure = exc
