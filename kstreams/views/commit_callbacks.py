"""Call a function at each new version of a view."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

from typing_extensions import Self

from kstreams.errors import ExecutionError

__all__ = ("Following",)


class Following:
    """Calls a function at each version of a view, in a thread of its own.

    As a context manager, it stops the thread at the end of the `with` block.

    Args:
        refresh: Moves the view to the newest version and returns its number; None before the first.
        callback: Called with the number of each version.
        poll: Interval between two refreshes.
    """

    def __init__(
        self, refresh: Callable[[], int | None], callback: Callable[[int], None], poll: timedelta
    ) -> None:
        self._refresh = refresh
        self._callback = callback
        self._poll_seconds = poll.total_seconds()
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="kstreams-view", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> Exception | None:
        """The error that stopped the thread; None without an error."""
        return self._failure

    def _run(self) -> None:
        seen: int | None = None
        try:
            while not self._stop.is_set():
                version = self._refresh()
                if version is not None and version != seen:
                    seen = version
                    self._callback(version)
                self._stop.wait(self._poll_seconds)
        except Exception as exc:  # noqa: BLE001  # raised by close
            self._failure = exc

    def close(self) -> None:
        """Stop the thread after the current call.

        Raises:
            ExecutionError: The callback, or reading the view, had failed.
        """
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise ExecutionError(
                f"the callback that follows the view, or a read of the view, failed: {failure}",
                hint="fix the cause, then call follow(...) again: no further calls were made.",
            ) from failure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
