"""What a `to_stdout` sink prints of a batch."""

from __future__ import annotations

from typing import Any

from kstreams.record import Record

__all__ = ("StdoutLines",)

_MAX_LINES = 1_000


class StdoutLines:
    """Gathers the lines of one sink: at most 1,000 a batch, the rest is counted."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._lines: list[str] = []
        self._more = 0

    def take(self, record: Record[Any, Any]) -> None:
        """Take a record."""
        if len(self._lines) < _MAX_LINES:
            headers = f" {dict(record.headers)}" if record.headers else ""
            self._lines.append(
                f"{self._node}: {record.key!r} -> {record.value!r} @{record.timestamp}{headers}"
            )
        else:
            self._more += 1

    def mark(self) -> tuple[int, int]:
        """Return the present length, for `cut`."""
        return len(self._lines), self._more

    def cut(self, mark: tuple[int, int]) -> None:
        """Forget what was taken since a mark."""
        del self._lines[mark[0] :]
        self._more = mark[1]

    def drain(self) -> list[str]:
        """Return the lines, with a last one for those left out, and start anew."""
        lines, more = self._lines, self._more
        self._lines, self._more = [], 0
        return [*lines, f"{self._node}: … and {more} more"] if more else lines
