"""The errors of Google Cloud Storage, one class for each way to resolve them."""

from __future__ import annotations

from kstreams.errors import SourceError, SourceUnavailableError, StoreError

__all__ = ("GcsAccessError", "GcsError", "GcsUnavailableError")


class GcsError(StoreError, SourceError):
    """The storage rejected a request.

    Args:
        message: The request, the storage, and the reply.
        hint: The next step.
        status: The HTTP status of the reply; 0 without a reply.
    """

    def __init__(self, message: str, *, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class GcsAccessError(GcsError):
    """Credentials are missing or lack a permission; give others, or widen their roles."""


class GcsUnavailableError(GcsError, SourceUnavailableError):
    """The storage did not execute a request, even after retries; the batch can be retried."""
