"""Rejects changes of a store between two batches, in place of the list of its changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from kstreams.errors import OutsideBatchError

__all__ = ("SealedJournal",)


class SealedJournal(list[tuple[Any, Any]]):
    """A journal that rejects each new entry with an error, so that a put changes nothing.

    A put adds its entry to the journal before it changes the store. During a batch, the store has
    another journal or none, so puts need no extra check.
    """

    def append(self, _: tuple[Any, Any]) -> NoReturn:
        """Reject a put.

        Raises:
            OutsideBatchError: Always.
        """
        raise OutsideBatchError("a store was written to outside of a batch")

    def __iadd__(self, _: Iterable[tuple[Any, Any]]) -> NoReturn:  # type: ignore[misc, override]  # as above
        """Reject puts; raises `OutsideBatchError`."""
        self.append((None, None))
