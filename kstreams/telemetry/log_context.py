"""The context of log lines: the app, query and batch of the thread that writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ("log_context", "note_in_log", "present_log_context")

_CONTEXT: ContextVar[dict[str, str | int] | None] = ContextVar("kstreams_log", default=None)


@contextmanager
def log_context(**fields: str | int) -> Iterator[None]:
    """Add fields to the context of this thread's log lines until the block ends."""
    token = _CONTEXT.set({**present_log_context(), **fields})
    try:
        yield
    finally:
        _CONTEXT.reset(token)


def note_in_log(**fields: str | int) -> None:
    """Add fields to the innermost `log_context` of this thread; do nothing without one."""
    found = _CONTEXT.get()
    if found is not None:
        found.update(fields)


def present_log_context() -> Mapping[str, str | int]:
    """Return the context of this thread's log lines."""
    return _CONTEXT.get() or {}
