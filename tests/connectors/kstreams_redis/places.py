"""A server's database that a test has alone, read by commands of its own."""

from __future__ import annotations

from typing import Any

import redis as client

__all__ = ("Place",)


class Place:
    """A database, empty at first.

    Args:
        url: Its address.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.ask("FLUSHALL")

    def ask(self, *command: str | int) -> Any:
        """Send a command over a connection of its own, and return the answer."""
        with client.Redis.from_url(self.url, decode_responses=True) as asked:
            return asked.execute_command(*command)

    def names(self, prefix: str = "totals:") -> list[str]:
        """Return what follows a prefix in the names of keys, sorted."""
        return sorted(key[len(prefix) :] for key in self.ask("KEYS", f"{prefix}*"))

    def entries(self, stream: str) -> list[dict[str, str]]:
        """Return the fields of a stream's entries, in order."""
        with client.Redis.from_url(self.url, decode_responses=True) as asked:
            found: list[tuple[str, dict[str, str]]] = asked.xrange(stream)
        return [fields for _, fields in found]
