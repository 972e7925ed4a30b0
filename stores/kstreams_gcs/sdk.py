"""The only module that imports google-cloud-storage."""

from __future__ import annotations

try:
    import google.auth.exceptions as auth_exceptions
    import requests
    from google.api_core import exceptions
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage
    from google.cloud.storage import exceptions as media_exceptions
    from google.cloud.storage.retry import DEFAULT_RETRY
    from google.oauth2 import service_account
except ImportError as error:
    raise ImportError(
        "Google Cloud Storage needs google-cloud-storage: pip install 'kstreams-spark[gcs]'"
    ) from error

__all__ = (
    "DEFAULT_RETRY",
    "AnonymousCredentials",
    "auth_exceptions",
    "exceptions",
    "media_exceptions",
    "requests",
    "service_account",
    "storage",
)
