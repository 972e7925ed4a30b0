"""A server's public key, as tools of SSH write it."""

from __future__ import annotations

import base64
import binascii
from itertools import pairwise

__all__ = ("parsed_key",)

_KINDS = ("ssh-", "ecdsa-", "sk-")


def parsed_key(line: str) -> tuple[str, str]:
    """Return kind and base64 of a key as `ssh-keyscan` or a `.pub` file has it.

    Raises:
        ValueError: It is none.
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
