"""What the lines of a log are about: the app, the query and the batch of whoever writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ("log_context", "note_in_log", "present_log_context")

_CONTEXT: ContextVar[dict[str, str | int] | None] = ContextVar("kstreams_log", default=None)


@contextmanager
def log_context(**fields: str | int) -> Iterator[None]:
    """Let what this thread logs inside be about these, and what it is about already."""
    token = _CONTEXT.set({**present_log_context(), **fields})
    try:
        yield
    finally:
        _CONTEXT.reset(token)


def note_in_log(**fields: str | int) -> None:
    """Add to the innermost `log_context` of this thread; outside of all do nothing."""
    found = _CONTEXT.get()
    if found is not None:
        found.update(fields)


def present_log_context() -> Mapping[str, str | int]:
    """Return what this thread's lines are about."""
    return _CONTEXT.get() or {}
