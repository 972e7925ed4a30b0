"""Creates Google's client with the options that this package needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams_gcs.errors import GcsAccessError
from kstreams_gcs.sdk import AnonymousCredentials, service_account, storage

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

    from kstreams_gcs.settings import GCS

__all__ = ("make_client",)

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"


def make_client(settings: GCS) -> storage.Client:
    """Return a client for one process; threads may share it, but forks must not inherit it.

    Raises:
        GcsAccessError: The file of credentials cannot be read.
        Exception: There are no default credentials.
    """
    options = {"api_endpoint": settings.endpoint_url} if settings.endpoint_url else None
    return storage.Client(project=None, credentials=_credentials(settings), client_options=options)


def _credentials(settings: GCS) -> Credentials | None:
    if settings.anonymous:
        return AnonymousCredentials()  # type: ignore[no-untyped-call]  # typed only in part
    if settings.credentials_file is None:
        return None
    try:
        found: Credentials = service_account.Credentials.from_service_account_file(  # type: ignore[no-untyped-call]  # as above
            settings.credentials_file, scopes=[_SCOPE]
        )
    except Exception as exc:  # noqa: BLE001  # its text may contain the path or the key
        raise GcsAccessError(
            f"the credentials for {settings.place} cannot be read: {type(exc).__name__}",
            hint="check that credentials_file= is the JSON key of a service account, "
            "and exists on the driver and on each worker.",
        ) from None
    return found
