"""The printed lines of a `to_stdout` sink in a batch."""

from __future__ import annotations

from typing import Any

from kstreams.quoting import one_line, repr_of
from kstreams.record import Record

__all__ = ("StdoutLines",)

_MAX_LINES = 1_000
_MAX_CHARS = 10_000


class StdoutLines:
    """Collects the lines of one sink: at most 1,000 in a batch; further lines are only counted.

    Keys, values and headers are cut after 10,000 characters each.
    """

    def __init__(self, node: str) -> None:
        self._node = one_line(node)
        self._lines: list[str] = []
        self._more = 0

    def take(self, record: Record[Any, Any]) -> None:
        """Take a record."""
        if len(self._lines) < _MAX_LINES:
            headers = f" {repr_of(dict(record.headers), _MAX_CHARS)}" if record.headers else ""
            key, value = repr_of(record.key, _MAX_CHARS), repr_of(record.value, _MAX_CHARS)
            time = repr_of(record.timestamp, _MAX_CHARS)
            self._lines.append(f"{self._node}: {key} -> {value} @{time}{headers}")
        else:
            self._more += 1

    def mark(self) -> tuple[int, int]:
        """Return the numbers of kept and omitted lines, the argument of `cut`."""
        return len(self._lines), self._more

    def cut(self, mark: tuple[int, int]) -> None:
        """Drop the lines that were taken after the call of `mark` that returned `mark`."""
        del self._lines[mark[0] :]
        self._more = mark[1]

    def drain(self) -> list[str]:
        """Return the lines, plus a line with the number of omitted lines, and clear them."""
        lines, more = self._lines, self._more
        self._lines, self._more = [], 0
        return [*lines, f"{self._node}: … and {more} more"] if more else lines
