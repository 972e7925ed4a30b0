"""The call in the user's code that defines a node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from kstreams.quoting import one_line

__all__ = ("CallSite", "Located", "origin_text")

_MOST_CHARS = 300


@dataclass(frozen=True)
class CallSite:
    """The file and line of the call that defines a node; `str` is `shop.py:12`.

    `str` is safe to print: line breaks and control characters are escaped. It is no markup, so
    pages and terminals that have markup must still escape it.

    Args:
        file: Name of the file.
        line: Number of the line, counted from 1.

    Raises:
        ValueError: The file has no name, or the line is below 1.
    """

    file: str
    line: int

    def __post_init__(self) -> None:
        if not self.file:
            raise ValueError("a call site needs the name of a file")
        if self.line < 1:
            raise ValueError(f"line is {self.line}, expected 1 or more")

    def __str__(self) -> str:
        """Return file and line, escaped and on one line."""
        return f"{one_line(self.file, _MOST_CHARS)}:{self.line}"


@dataclass(frozen=True)
class Located:
    """The base class of nodes: it adds the origin, which is not part of a node's equality.

    Attributes:
        origin: The file and line that define the node; None if it is not known.
    """

    origin: CallSite | None = field(default=None, kw_only=True, compare=False, repr=False)


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> CallSite | None: ...


def origin_text(nodes: Iterable[_Named], name: str | None) -> str | None:
    """Return the origin of the node with a name, as text; None if it is not known."""
    for node in nodes:
        if node.name == name:
            return None if node.origin is None else str(node.origin)
    return None
