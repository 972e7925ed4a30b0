"""What nodes hold back until the end of a micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ("BatchHold",)


class BatchHold:
    """What one node holds back, and who gets it at the end.

    Args:
        node: The node.
        release: Gets all that is held, in order; not called when there is nothing.
    """

    def __init__(self, node: str, release: Callable[[Sequence[Any]], None]) -> None:
        self.node = node
        self._release = release
        self._items: list[Any] = []
        self.take: Callable[[Any], None] = self._items.append

    def mark(self) -> int:
        """Return the present length, for `cut`."""
        return len(self._items)

    def cut(self, mark: int) -> None:
        """Forget what was taken since a mark."""
        del self._items[mark:]

    def release(self) -> None:
        """Hand over what is held, and hold nothing."""
        if self._items:
            items = tuple(self._items)
            self._items.clear()
            self._release(items)
