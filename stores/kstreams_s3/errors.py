"""The errors of S3 storage, one class for each way to resolve them."""

from __future__ import annotations

from kstreams.errors import SourceError, SourceUnavailableError, StoreError

__all__ = (
    "AccessDeniedError",
    "BucketMissingError",
    "CertificateError",
    "CredentialsError",
    "CredentialsExpiredError",
    "S3Error",
    "StorageUnavailableError",
)


class S3Error(StoreError, SourceError):
    """The storage rejected a request, for a reason without a separate class.

    Args:
        message: The request, the storage, and the reply.
        hint: The next step.
        code: S3's error code, such as `SlowDown`; empty without a reply.
        status: The HTTP status of the reply; 0 without a reply.
    """

    def __init__(self, message: str, *, hint: str = "", code: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.status = status


class BucketMissingError(S3Error):
    """The bucket does not exist; create it, or correct its name, the region or the endpoint."""


class CertificateError(S3Error):
    """The endpoint has no trusted certificate; nothing was sent."""


class CredentialsError(S3Error):
    """Credentials are missing, or the storage does not know them; give other credentials."""


class CredentialsExpiredError(CredentialsError):
    """The credentials have expired; renew them and restart."""


class AccessDeniedError(S3Error):
    """The credentials are valid, but lack a permission; widen their policy."""


class StorageUnavailableError(S3Error, SourceUnavailableError):
    """The storage did not execute a request, even after retries; the batch can be retried."""
