"""Conversion of boto3's exceptions to typed errors, and their classification as transient."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from kstreams_s3.errors import (
    AccessDeniedError,
    BucketMissingError,
    CertificateError,
    CredentialsError,
    CredentialsExpiredError,
    S3Error,
    StorageUnavailableError,
)
from kstreams_s3.sdk import exceptions

__all__ = ("Answer", "answer", "as_error", "may_pass", "without_secrets")

_CERTIFICATE_ERRORS = ("CertificateError", "SSLCertVerificationError")
"""Class names of certificate errors: the standard library's or urllib3's, as boto3 raises them."""

_LOGIN = re.compile(r"(?<=://)[^/?#\s\"']*@")

_BUSY = {
    "ConditionalRequestConflict",
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
    "BadDigest",
    "IncompleteBody",
}
_KINDS: dict[str, tuple[type[S3Error], str]] = {
    "NoSuchBucket": (
        BucketMissingError,
        "Create the bucket, or correct its name, the region or the endpoint_url of S3(...).",
    ),
    "PermanentRedirect": (
        S3Error,
        "The bucket is in another region: set S3(region=...).",
    ),
    "AuthorizationHeaderMalformed": (
        S3Error,
        "The bucket is in another region: set S3(region=...).",
    ),
    "InvalidAccessKeyId": (
        CredentialsError,
        (
            "The storage does not know this access key: pass a valid key to S3(...), or in the "
            "credentials of boto3."
        ),
    ),
    "SignatureDoesNotMatch": (
        CredentialsError,
        "The secret key does not belong to the access key: pass the correct secret key to S3(...).",
    ),
    "InvalidToken": (
        CredentialsError,
        (
            "The session token does not belong to the access key: set access key, secret key and "
            "token together."
        ),
    ),
    "RequestTimeTooSkewed": (
        CredentialsError,
        (
            "The clock of this machine differs from the clock of the storage: synchronize the "
            "clock of this machine."
        ),
    ),
    "ExpiredToken": (
        CredentialsExpiredError,
        (
            "Renew the credentials on the driver and on each worker, and start the app again: it "
            "continues after its last commit. Roles of machines and profiles that renew "
            "themselves do not expire."
        ),
    ),
    "AccessDenied": (
        AccessDeniedError,
        (
            "Allow the credentials s3:GetObject, s3:PutObject, s3:DeleteObject, "
            "s3:AbortMultipartUpload below the prefix and s3:ListBucket, "
            "s3:ListBucketMultipartUploads on the bucket: see docs/state-on-s3.md."
        ),
    ),
    "NotImplemented": (
        S3Error,
        (
            "The durable log needs conditional writes (If-None-Match: * on PutObject), which the "
            "storage does not support: use another storage."
        ),
    ),
}
_ALIASES = {
    "ExpiredTokenException": "ExpiredToken",
    "RequestExpired": "ExpiredToken",
    "TokenRefreshRequired": "ExpiredToken",
    "AllAccessDisabled": "AccessDenied",
    "AccountProblem": "AccessDenied",
    "IllegalLocationConstraintException": "PermanentRedirect",
    "301": "PermanentRedirect",
    "403": "AccessDenied",  # HEAD has no body that would say more
    "Forbidden": "AccessDenied",
}


_GIVEN = "S3(access_key=..., secret_key=..., session_token=...)"
_ORIGINS = {
    "explicit": f"the arguments {_GIVEN}",
    "env": "from the environment (AWS_ACCESS_KEY_ID and others)",
    "shared-credentials-file": "from a profile in the shared credentials file",
    "config-file": "from the configuration file of boto3",
}
"""The description of credentials in error texts, by boto3's name of their source."""


class Answer(NamedTuple):
    """The error reply of a storage."""

    code: str
    status: int
    text: str


def answer(error: Exception) -> Answer:
    """Return the error reply in an exception; empty if the storage did not reply."""
    if not isinstance(error, exceptions.ClientError):
        return Answer("", 0, str(error))
    found = error.response.get("Error", {})
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return Answer(str(found.get("Code", "")), status, str(found.get("Message", "")))


def may_pass(error: Exception) -> bool:
    """Return whether the failed request may succeed later."""
    if isinstance(error, exceptions.ClientError):
        code, status, _ = answer(error)
        return code in _BUSY or status == 429 or (status >= 500 and code != "NotImplemented")
    if _is_about_the_certificate(error):
        return False
    kinds = (
        exceptions.ConnectionError,
        exceptions.HTTPClientError,
        exceptions.ResponseStreamingError,
        exceptions.IncompleteReadError,
    )
    return isinstance(error, kinds)


def without_secrets(text: object, secrets: Iterable[str]) -> str:
    """Return a text without secrets, and without the logins of URLs."""
    shown = str(text)
    for secret in secrets:
        shown = shown.replace(secret, "***").replace(quote(secret, safe=""), "***")
    return _LOGIN.sub("***@", shown)


def as_error(error: Exception, doing: str, secrets: tuple[str, ...], origin: str = "") -> S3Error:
    """Return the typed error for an exception of boto3, without secrets in its text.

    Args:
        error: The exception.
        doing: The request and the storage: `read object 'x' of s3://...`.
        secrets: The texts to remove, if the storage repeats them.
        origin: boto3's name of the source of the credentials; empty if unknown.
    """
    code, status, text = answer(error)
    text = without_secrets(text, secrets)
    if code:
        message = f"cannot {doing}: the storage answered {code} (status {status}): {text}"
    else:
        message = f"cannot {doing}: {type(error).__name__}: {text}"
    kind, hint = _kind(error, _ALIASES.get(code, code))
    if origin and issubclass(kind, CredentialsError):
        found = _ORIGINS.get(origin, f"from the boto3 provider {origin!r}")
        hint = f"The credentials in use are {found}. {hint}"
    return kind(message, hint=hint, code=code, status=status)


def _kind(error: Exception, code: str) -> tuple[type[S3Error], str]:
    if code in _KINDS:
        return _KINDS[code]
    if may_pass(error):
        return (
            StorageUnavailableError,
            (
                "Check that the storage runs and is reachable (endpoint_url, network, proxies); "
                "S3(give_up_after=...) sets how long to retry. The batch can be retried."
            ),
        )
    if _is_about_the_certificate(error):
        return (
            CertificateError,
            (
                "Check that endpoint_url is the address of the storage. If its certificate has a "
                "private certificate authority, set AWS_CA_BUNDLE to the PEM file of this "
                "authority on the driver and on each worker."
            ),
        )
    if _is_about_credentials(error):
        return (
            CredentialsError,
            (
                "Give boto3 credentials (environment, profile or role of the machine) on the "
                "driver and on each worker, or pass access_key and secret_key to S3(...)."
            ),
        )
    return S3Error, "The documentation of the storage describes the error code."


def _is_about_the_certificate(error: Exception) -> bool:
    """Return whether a certificate is not trusted, or belongs to another host.

    Boto3's class covers only the first case, and also other TLS errors.
    """
    found: BaseException | None = error
    while found is not None:
        if type(found).__name__ in _CERTIFICATE_ERRORS:
            return True
        found = found.__cause__ or found.__context__
    return isinstance(error, exceptions.SSLError) and "CERTIFICATE" in str(error).upper()


def _is_about_credentials(error: Exception) -> bool:
    kinds = (
        exceptions.NoCredentialsError,
        exceptions.PartialCredentialsError,
        exceptions.CredentialRetrievalError,
        exceptions.ProfileNotFound,
        exceptions.SSOError,
        exceptions.TokenRetrievalError,
    )
    return isinstance(error, kinds)
