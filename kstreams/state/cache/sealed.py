"""The placeholder of a store's journal between batches, which rejects puts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from kstreams.errors import OutsideBatchError

__all__ = ("SealedJournal",)


class SealedJournal(list[tuple[Any, Any]]):
    """A journal that takes no entry: each put makes one first, so that none gets through.

    It costs a put nothing while the store is open.
    """

    def append(self, _: tuple[Any, Any]) -> NoReturn:
        """Refuse.

        Raises:
            OutsideBatchError: Always.
        """
        raise OutsideBatchError("a store was written to outside of a batch")

    def __iadd__(self, _: Iterable[tuple[Any, Any]]) -> NoReturn:  # type: ignore[misc, override]  # as above
        """Refuse."""
        self.append((None, None))
