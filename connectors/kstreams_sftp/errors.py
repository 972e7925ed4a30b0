"""Errors of an SFTP server, one class for each way to resolve them."""

from __future__ import annotations

from kstreams.errors import SourceError, SourceUnavailableError, StoreError

__all__ = ("HostKeyError", "LoginError", "SftpError", "SftpUnavailableError")


class SftpError(StoreError, SourceError):
    """The server rejects a request or lacks a feature: a missing right, a full disk."""


class SftpUnavailableError(SftpError, SourceUnavailableError):
    """The server did not answer, even after retries; the batch can be retried."""


class HostKeyError(SftpError):
    """The server's key is unknown; no login was sent."""


class LoginError(SftpError):
    """The server rejects this user, or the user's private key cannot be read."""
