"""Checks of message signatures, made with a secret that sender and receiver share."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, Protocol

from kstreams.options import checks_options

__all__ = ("HmacSignature", "Signature", "StandardWebhooks")

_SHORTEST_SECRET = 16
_PREFIX = "whsec_"


class Signature(Protocol):
    """Accepts only messages that are signed with the secret."""

    def check(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> str | None:
        """Check a message.

        Args:
            headers: The headers of the request, by names in lower case; repeated headers are
                omitted.
            body: The body.
            now_ms: The time, ms since the epoch.

        Returns:
            The id of the message, if the signature covers one.

        Raises:
            ValueError: The signature is missing or invalid. The text is sent to the sender.
        """
        ...


@checks_options
@dataclass(frozen=True)
class HmacSignature:
    """A header with the HMAC of the body, as GitHub, Shopify and many others send.

    An observed message can be sent again with its signature: prefer `StandardWebhooks` if the
    sender supports it.

    Args:
        secrets: The accepted secrets, so that secrets can be rotated without a restart; at least 16
            bytes each. They do not appear in texts.
        header: The name of the header.
        prefix: The text before the signature, such as `sha256=`.
        algorithm: The hash algorithm.
        encoding: The encoding of the signature.

    Raises:
        ValueError: There is no secret, or a secret is too short.

    Example:
        >>> signature = HmacSignature(("a secret of 26 characters",), prefix="sha256=")
        >>> signature
        HmacSignature(header='x-hub-signature-256', prefix='sha256=', algorithm='sha256', \
encoding='hex')
    """

    secrets: tuple[str | bytes, ...] = field(repr=False)
    header: str = "x-hub-signature-256"
    prefix: str = ""
    algorithm: Literal["sha256", "sha512", "sha1"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"

    def __post_init__(self) -> None:
        _check_secrets([_bytes(secret) for secret in self.secrets])

    def check(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> str | None:
        """Check a message; return None, because the signature covers no id."""
        given = headers.get(self.header.lower(), "")
        if not given.startswith(self.prefix):
            raise ValueError(
                f"the header {self.header} is missing, or does not begin with {self.prefix!r}"
            )
        text = given[len(self.prefix) :]
        if self.encoding == "hex":
            text = text.lower()
        found = [self._signed(_bytes(secret), body) for secret in self.secrets]
        if not _is_one_of(text, found):
            raise ValueError("the signature does not match any configured secret")
        return None

    def _signed(self, secret: bytes, body: bytes) -> str:
        digest = hmac.new(secret, body, self.algorithm).digest()
        return digest.hex() if self.encoding == "hex" else b64encode(digest).decode()


@dataclass(frozen=True)
class StandardWebhooks:
    """Signatures of the Standard Webhooks specification, over id, time and body.

    An observed message can be sent again only within `tolerance`, and has the same id.

    Args:
        secrets: The accepted secrets in the sender's form: `whsec_` and base64.
        tolerance: The maximum difference between the time of a message and the local time.

    Raises:
        ValueError: There is no secret, or a secret is too short or not base64.

    Source: the specification at standardwebhooks.com, its symmetric signatures (v1).
    """

    secrets: tuple[str, ...] = field(repr=False)
    tolerance: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        _check_secrets(self._keys())

    def check(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> str | None:
        """Check a message, and return its id."""
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        message, sent, signatures = (headers.get(name, "") for name in names)
        if not message or not sent or not signatures:
            raise ValueError(f"the request needs the headers {', '.join(names)}")
        if not sent.isascii() or not sent.isdigit() or len(sent) > 12:
            raise ValueError("the header webhook-timestamp is not a number of seconds")
        if abs(now_ms - int(sent) * 1000) > self.tolerance.total_seconds() * 1000:
            raise ValueError(
                "the header webhook-timestamp differs from the time of the server by more than "
                f"{self.tolerance.total_seconds():g} s"
            )
        signed = f"{message}.{sent}.".encode("latin-1") + body
        found = [
            f"v1,{b64encode(hmac.new(key, signed, 'sha256').digest()).decode()}"
            for key in self._keys()
        ]
        if not any(_is_one_of(each, found) for each in signatures.split(" ")):
            raise ValueError("the signature does not match any configured secret")
        return message

    def _keys(self) -> list[bytes]:
        return [b64decode(text.removeprefix(_PREFIX), validate=True) for text in self.secrets]


def _bytes(secret: str | bytes) -> bytes:
    return secret.encode() if isinstance(secret, str) else secret


def _check_secrets(secrets: list[bytes]) -> None:
    if not secrets or any(len(secret) < _SHORTEST_SECRET for secret in secrets):
        raise ValueError(
            f"secrets needs one secret or more, each of at least {_SHORTEST_SECRET} bytes"
        )


def _is_one_of(given: str, known: list[str]) -> bool:
    """Return whether a signature is valid; the comparison takes constant time."""
    data = given.encode("utf-8", "replace")
    return sum(hmac.compare_digest(data, each.encode()) for each in known) > 0
