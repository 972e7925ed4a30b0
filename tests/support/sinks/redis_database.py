"""A server's database for a test, read by separate commands."""

from __future__ import annotations

from typing import Any

import redis as client

__all__ = ("Place",)


class Place:
    """A database, empty at first.

    Args:
        url: Address of the database.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.ask("FLUSHALL")

    def ask(self, *command: str | int) -> Any:
        """Send a command over a new connection, and return the reply."""
        with client.Redis.from_url(self.url, decode_responses=True) as asked:
            return asked.execute_command(*command)

    def names(self, prefix: str = "totals:") -> list[str]:
        """Return the names of keys with a prefix, without it, sorted."""
        return sorted(key[len(prefix) :] for key in self.ask("KEYS", f"{prefix}*"))

    def entries(self, stream: str) -> list[dict[str, str]]:
        """Return the fields of a stream's entries, in order."""
        with client.Redis.from_url(self.url, decode_responses=True) as asked:
            found: list[tuple[str, dict[str, str]]] = asked.xrange(stream)
        return [fields for _, fields in found]
