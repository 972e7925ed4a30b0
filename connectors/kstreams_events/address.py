"""Server addresses, and their form for logs and errors."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

__all__ = ("checked", "shown")


def checked(url: str, schemes: Collection[str]) -> str:
    """Return a URL if it is valid.

    Raises:
        ValueError: The URL is invalid, or has a password, which belongs in a header.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
        usable = usable and not parts.username and not parts.password
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(
            f"url= is not valid: expected {' or '.join(f'{s}://' for s in schemes)} with a host, "
            "and no user or password, which belong in headers="
        )
    return url


def shown(url: str) -> str:
    """Return a URL without its query, which may contain a secret."""
    return urlsplit(url)._replace(query="", fragment="").geturl()
