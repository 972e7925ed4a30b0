"""Cursors: signed texts with the position of the next page; only this server can create them."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from hashlib import sha256

from kstreams.state.log.fields import Fields
from kstreams_serve.parameters import base64_bytes
from kstreams_serve.problems import Problem

__all__ = ("Cursors",)

_MAC_BYTES = 16


class Cursors:
    """Creates and reads authenticated cursors.

    Args:
        secret: A secret of this server.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def make(self, content: dict[str, object]) -> str:
        """Return the text of a cursor."""
        data = json.dumps(content, separators=(",", ":")).encode()
        return urlsafe_b64encode(self._mac(data) + data).decode().rstrip("=")

    def read(self, text: str) -> Fields:
        """Return the content of a cursor.

        Raises:
            Problem: The cursor is not from this server.
        """
        try:
            data = base64_bytes(text)
            mac, data = data[:_MAC_BYTES], data[_MAC_BYTES:]
        except ValueError as exc:
            raise _foreign() from exc
        if not hmac.compare_digest(mac, self._mac(data)):
            raise _foreign()
        return Fields(json.loads(data))

    def _mac(self, data: bytes) -> bytes:
        return hmac.digest(self._secret, b"cursor:" + data, sha256)[:_MAC_BYTES]


def _foreign() -> Problem:
    return Problem(
        400,
        "the cursor was not created by this server",
        hint="a cursor is valid until the server stops; start with the first page again.",
    )
