"""Parsing of a server's public key in the format of SSH tools."""

from __future__ import annotations

import base64
import binascii
from itertools import pairwise

__all__ = ("parsed_key",)

_KINDS = ("ssh-", "ecdsa-", "sk-")


def parsed_key(line: str) -> tuple[str, str]:
    """Return the type and the base64 text of a key from `ssh-keyscan` or a `.pub` file.

    Raises:
        ValueError: The line is not a key.
    """
    words = line.split()
    for kind, data in pairwise(words):
        if kind.startswith(_KINDS):
            try:
                known = kind.encode() in base64.b64decode(data, validate=True)[:64]
            except (ValueError, binascii.Error):
                known = False
            if known:
                return kind, data
    raise ValueError("Sftp(host_keys=...): expected keys such as 'ssh-ed25519 AAAA...'")
