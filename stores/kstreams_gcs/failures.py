"""Convert errors of Google's client to the library's errors."""

from __future__ import annotations

import re

from kstreams_gcs.errors import GcsAccessError, GcsError, GcsUnavailableError
from kstreams_gcs.sdk import auth_exceptions, exceptions, media_exceptions, requests

__all__ = ("FAILURES", "as_error")

FAILURES = (
    exceptions.GoogleAPIError,
    auth_exceptions.GoogleAuthError,
    media_exceptions.InvalidResponse,
    requests.RequestException,
    OSError,
    EOFError,
)
"""The exceptions of the client for the storage, the network, and credentials."""

_PASSING = frozenset({408, 429})
_ACCESS = frozenset({401, 403})
_QUERY = re.compile(r"\?[^\s'\"]*")
"""Matches the query of a URL, which may grant access to an upload."""
_SHOWN = 500


def as_error(exc: Exception, doing: str) -> GcsError:
    """Return the typed error for an exception of the client.

    Args:
        exc: The exception.
        doing: The request and the storage: `read object 'x' of gs://...`.
    """
    cause = exc.cause if isinstance(exc, exceptions.RetryError) and exc.cause else exc
    status = int(getattr(cause, "code", None) or 0)
    said = _QUERY.sub("?…", f"{type(cause).__name__}: {cause}")[:_SHOWN]
    what = f"cannot {doing}: {said}"
    if status in _ACCESS or _is_about_credentials(cause):
        return GcsAccessError(
            what,
            hint="give application default credentials or GCS(credentials_file=...), on the driver "
            "and on each worker; their role needs to list, get, create and delete objects.",
            status=status,
        )
    if status == 0 or status in _PASSING or status >= 500:
        return GcsUnavailableError(
            what,
            hint="check the network to the storage; GCS(give_up_after=...) limits the time of "
            "retries. The batch can be retried.",
            status=status,
        )
    return GcsError(
        what, hint="check that the bucket exists, and that its name is correct.", status=status
    )


def _is_about_credentials(exc: BaseException) -> bool:
    passing = isinstance(exc, auth_exceptions.TransportError)
    return isinstance(exc, auth_exceptions.GoogleAuthError) and not passing
