"""Items that a node buffers until the end of a micro-batch; see `ProcessorContext.hold`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ("BatchHold",)


class BatchHold:
    """The items that one function of `ProcessorContext.hold` buffers, objects of any type.

    Args:
        node: The node.
        release: Called with all items, in order; not called without items.
        undo: Called with the items of a record that failed, in order, after its changes of stores
            are undone; not called without items.
    """

    def __init__(
        self,
        node: str,
        release: Callable[[Sequence[Any]], None],
        undo: Callable[[Sequence[Any]], None] | None = None,
    ) -> None:
        self.node = node
        self._release = release
        self._undo = undo
        self._items: list[Any] = []
        self.take: Callable[[Any], None] = self._items.append

    def mark(self) -> int:
        """Return the number of items, as a mark for `cut`."""
        return len(self._items)

    def cut(self, mark: int) -> None:
        """Discard the items that were added after a mark."""
        items = tuple(self._items[mark:])
        del self._items[mark:]
        if items and self._undo is not None:
            self._undo(items)

    def release(self) -> None:
        """Release all items."""
        if self._items:
            items = tuple(self._items)
            self._items.clear()
            self._release(items)
