"""What can be wrong with a storage, by what its operator does next."""

from __future__ import annotations

from kstreams.errors import StoreError

__all__ = (
    "AccessDeniedError",
    "BucketMissingError",
    "CertificateError",
    "CredentialsError",
    "CredentialsExpiredError",
    "S3Error",
    "StorageUnavailableError",
)


class S3Error(StoreError):
    """The storage refused a request, for a reason that has no class of its own.

    Args:
        message: What was asked, of which storage, and how it answered.
        hint: What to do.
        code: S3's own word for it, such as `SlowDown`; empty when it did not answer.
        status: HTTP status of the answer; 0 when there was none.
    """

    def __init__(self, message: str, *, hint: str = "", code: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.status = status


class BucketMissingError(S3Error):
    """There is no such bucket; create it, or correct its name, the region or the endpoint."""


class CertificateError(S3Error):
    """Whoever answers at the endpoint has no certificate that is trusted; nothing was sent."""


class CredentialsError(S3Error):
    """There are no credentials, or the storage does not know them; give others."""


class CredentialsExpiredError(CredentialsError):
    """The credentials were good once; renew them and restart."""


class AccessDeniedError(S3Error):
    """The credentials are good, but may not do this; widen their policy."""


class StorageUnavailableError(S3Error):
    """The storage did not do it in spite of many tries; the batch can be retried."""
