"""Stops an app gracefully on SIGINT and SIGTERM."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from types import FrameType

__all__ = ("stopping_on_signals",)

_LOG = logging.getLogger(__name__)


def stopping_on_signals(stop: threading.Event) -> Callable[[], None]:
    """Let SIGINT and SIGTERM set `stop`; return a function that restores the handlers.

    Only the main thread can set handlers: in other threads, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None

    def handle(number: int, _: FrameType | None) -> None:
        _LOG.info("signal %s: stopping after the batches under way", signal.Signals(number).name)
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore
