"""Interceptors: code of the user's around each call of `process`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kstreams.ids import TaskId
from kstreams.record import Record

__all__ = ("Interceptor",)


class Interceptor(Protocol):
    """Wraps `process` of every record processor: for tracing, timing, logging.

    Must be picklable. The first one of a list is the outermost. A join that one record reaches
    by both inputs is called once all of it is there: for each record in turn, the left ones
    first, and joins within the last call.
    """

    def bind(
        self, node: str, task: TaskId, process: Callable[[Record[object, object]], None]
    ) -> Callable[[Record[object, object]], None]:
        """Return what is called in place of `process`; called once a node and batch."""
        ...
