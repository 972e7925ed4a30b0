"""What can be wrong with a storage, by what its operator does next."""

from __future__ import annotations

from kstreams.errors import SourceError, SourceUnavailableError, StoreError

__all__ = ("GcsAccessError", "GcsError", "GcsUnavailableError")


class GcsError(StoreError, SourceError):
    """The storage refused a request.

    Args:
        message: What was asked, of which storage, and how it answered.
        hint: What to do.
        status: HTTP status of the answer; 0 when there was none.
    """

    def __init__(self, message: str, *, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class GcsAccessError(GcsError):
    """There are no credentials, or they may not do this; give others, or widen their roles."""


class GcsUnavailableError(GcsError, SourceUnavailableError):
    """The storage did not do it in spite of many tries; the batch can be retried."""
