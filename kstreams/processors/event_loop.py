"""The event loops of a process, each in a separate thread."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

__all__ = ("run_in",)

T = TypeVar("T")
"""The result type of a coroutine."""

_Factory = Callable[[], asyncio.AbstractEventLoop]

_LOCK = threading.Lock()
_LOOPS: dict[tuple[int, _Factory], asyncio.AbstractEventLoop] = {}
"""The event loops by process id (because processes are forked) and factory."""


def run_in(factory: _Factory, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in the event loop of the process, and return its result.

    The loop continues after the coroutine, so that clients can be reused. The caller may run in
    another event loop, which it blocks.

    Args:
        factory: Creates the loop when it is first used in a process.
        work: Creates the coroutine.
    """
    future = asyncio.run_coroutine_threadsafe(work(), _loop(factory))
    try:
        return future.result()
    except CancelledError:
        raise RuntimeError(
            "the asynchronous calls of a batch were cancelled: other code stopped their event loop "
            "or cancelled its tasks"
        ) from None
    finally:
        future.cancel()  # an interrupted caller leaves nothing under way


def _loop(factory: _Factory) -> asyncio.AbstractEventLoop:
    place = os.getpid(), factory
    with _LOCK:
        if place not in _LOOPS:
            made = _LOOPS[place] = factory()
            thread = threading.Thread(target=made.run_forever, name="kstreams-async", daemon=True)
            thread.start()
            atexit.register(_close, made, thread)
        return _LOOPS[place]


def _close(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(timeout=1)
    if not loop.is_running():
        loop.close()
