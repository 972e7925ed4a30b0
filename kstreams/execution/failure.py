"""Typed errors for any exception of an app's driver."""

from __future__ import annotations

from kstreams.errors import ExecutionError, KStreamsError
from kstreams.quoting import kind_of, text_of

__all__ = ("typed",)


def typed(exc: BaseException) -> KStreamsError:
    """Return the typed error for any exception that ended a query."""
    if isinstance(exc, KStreamsError):
        return exc
    error = ExecutionError(
        f"{kind_of(exc)}: {text_of(exc)}",
        hint="nothing of the failed batch was kept; remove the cause and restart.",
    )
    error.__cause__ = exc
    return error
