"""Windows that were closed before stream time would have closed them."""

from __future__ import annotations

from typing import Any

from kstreams.processors.context import ProcessorContext

__all__ = ("ClosedEarly",)


class ClosedEarly:
    """A context whose stream time is what windows were closed as of, if that is later.

    Args:
        context: The node's.
    """

    def __init__(self, context: ProcessorContext[Any, Any]) -> None:
        self._context = context
        self._as_of = context.close_time

    @property
    def stream_time(self) -> int:
        """Return the stream time that lateness is judged by, ms."""
        return max(self._context.stream_time, self._as_of)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the context has
        """Return what the context has."""
        return getattr(self._context, name)
