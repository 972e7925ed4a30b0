"""Creates boto3's client with the options that this package needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kstreams_s3.sdk import boto3, config

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

    from kstreams_s3.settings import S3

__all__ = ("make_client", "origin_of", "secrets_of")

_SDK_ATTEMPTS = 3
_CONNECTIONS = 40


def make_client(settings: S3) -> S3Client:
    """Return a client for one process; threads may share it, but forks must not inherit it.

    Checksums are those of this package: Content-MD5 for uploads, SHA-256 for downloads. The
    checksums of boto3 need trailers that not every storage supports.
    """
    session = boto3.session.Session(
        aws_access_key_id=settings.access_key,
        aws_secret_access_key=settings.secret_key,
        aws_session_token=settings.session_token,
        region_name=settings.region,
        profile_name=settings.profile,
    )
    options = config.Config(
        connect_timeout=settings.connect_timeout.total_seconds(),
        read_timeout=settings.read_timeout.total_seconds(),
        max_pool_connections=_CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": _SDK_ATTEMPTS},
        s3={"addressing_style": settings.addressing},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = session.client("s3", endpoint_url=settings.endpoint_url, config=options)
    client.meta.events.register_last("before-call.s3", _expect_nothing)
    return client


def secrets_of(client: S3Client) -> tuple[str, ...]:
    """Return the secrets to remove from error texts: the secret key and the session token."""
    held = _held(client)
    names = ("secret_key", "_secret_key", "token", "_token")
    return tuple(held[name] for name in names if held.get(name))


def origin_of(client: S3Client) -> str:
    """Return boto3's name of the source of the credentials, such as `env`.

    `explicit` means the credentials of the settings; the name is empty without credentials.
    """
    return str(_held(client).get("method") or "")


def _held(client: S3Client) -> dict[str, Any]:
    """Return the fields of the credentials in use.

    Reading the public properties instead would refresh temporary credentials.
    """
    signer = getattr(client, "_request_signer", None)
    held: dict[str, Any] = getattr(getattr(signer, "_credentials", None), "__dict__", {})
    return held


def _expect_nothing(params: dict[str, Any], **_: object) -> None:
    """Send small bodies without `Expect: 100-continue`, which saves a round trip for each object.

    Boto3 1.40 also hung when `100 Continue` and the reply arrived together.
    """
    params["headers"].pop("Expect", None)
