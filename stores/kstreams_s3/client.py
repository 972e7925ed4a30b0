"""A client of boto3's with the options that this package counts on."""

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
    """Return a client for one process; many threads may use it, none may inherit it by a fork.

    Checksums are this package's own: Content-MD5 on the way up, SHA-256 on the way down.
    Those that boto3 adds by itself need trailers that not every storage understands.
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
    """Return what no text may show: secret key and token in use, wherever they come from."""
    held = _held(client)
    names = ("secret_key", "_secret_key", "token", "_token")
    return tuple(held[name] for name in names if held.get(name))


def origin_of(client: S3Client) -> str:
    """Return boto3's word for where the credentials in use come from, such as `env`.

    `explicit` are those that were given in the settings; empty where there are none.
    """
    return str(_held(client).get("method") or "")


def _held(client: S3Client) -> dict[str, Any]:
    """Return the fields of the credentials in use.

    Not by their properties: those of credentials that renew themselves would do that here.
    """
    signer = getattr(client, "_request_signer", None)
    held: dict[str, Any] = getattr(getattr(signer, "_credentials", None), "__dict__", {})
    return held


def _expect_nothing(params: dict[str, Any], **_: object) -> None:
    """Send what is mostly small without asking first: a round trip less for each object.

    Boto3 1.40 also waited in vain when `100 Continue` and the answer came together.
    """
    params["headers"].pop("Expect", None)
