"""Signatures of senders, and requests with wrong ones."""

from __future__ import annotations

import hmac
from base64 import b64encode

import pytest

from kstreams.intakes import HmacSignature, StandardWebhooks

SECRET = "a secret of the tests"
KEY = b"0123456789abcdef0123456789abcdef"
STANDARD = StandardWebhooks((f"whsec_{b64encode(KEY).decode()}",))
BODY = b'{"type":"paid"}'


def _standard(body: bytes = BODY, identity: str = "msg_1", at: str = "1000") -> dict[str, str]:
    signed = f"{identity}.{at}.".encode() + body
    found = b64encode(hmac.new(KEY, signed, "sha256").digest()).decode()
    return {"webhook-id": identity, "webhook-timestamp": at, "webhook-signature": f"v1,{found}"}


def test_example_signature_of_github_is_accepted() -> None:
    signature = HmacSignature(("It's a Secret to Everybody",), prefix="sha256=")
    given = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert signature.check({"x-hub-signature-256": given}, b"Hello, World!", 0) is None
    with pytest.raises(ValueError, match="does not match any configured secret"):
        signature.check({"x-hub-signature-256": given}, b"Hello, World", 0)


@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_signature_by_older_secret_is_accepted_until_secret_is_removed(encoding: str) -> None:
    old, new = "the older of the secrets", "the newer of the secrets"
    digest = hmac.new(old.encode(), BODY, "sha512").digest()
    given = {"x-sign": digest.hex() if encoding == "hex" else b64encode(digest).decode()}
    for secrets, taken in (((new, old), True), ((new,), False)):
        signature = HmacSignature(secrets, "X-Sign", algorithm="sha512", encoding=encoding)  # type: ignore[arg-type]  # text
        if taken:
            signature.check(given, BODY, 0)
        else:
            with pytest.raises(ValueError, match="does not match any configured secret"):
                signature.check(given, BODY, 0)


def test_valid_standard_webhooks_signature_returns_message_id() -> None:
    assert STANDARD.check(_standard(), BODY, 1_000_000) == "msg_1"
    several = _standard() | {
        "webhook-signature": "v1,AAAA v1a,x " + _standard()["webhook-signature"]
    }
    assert STANDARD.check(several, BODY, 1_000_000) == "msg_1"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "needs the headers"),
        (_standard() | {"webhook-id": "msg_2"}, "does not match any configured secret"),
        (_standard() | {"webhook-timestamp": "1001"}, "does not match any configured secret"),
        (_standard(b"other"), "does not match any configured secret"),
        (_standard() | {"webhook-signature": "v1,"}, "does not match any configured secret"),
        (_standard(at="9" * 13), "not a number"),
        (_standard(at="²"), "not a number"),
        (_standard(at="-1"), "not a number"),
        (_standard(at="699"), "differs from the time of the server by more than 300 s"),
        (_standard(at="1301"), "differs from the time of the server by more than 300 s"),
    ],
)
def test_wrongly_signed_request_is_refused(headers: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        STANDARD.check(headers, BODY, 1_000_000)


def test_signature_with_short_or_missing_secrets_is_refused() -> None:
    for secrets in ((), ("short",)):
        with pytest.raises(ValueError, match="at least 16 bytes"):
            HmacSignature(secrets)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        StandardWebhooks(("whsec_AAAA",))
    assert SECRET not in repr(HmacSignature((SECRET,)))
    assert b64encode(KEY).decode() not in repr(STANDARD)
