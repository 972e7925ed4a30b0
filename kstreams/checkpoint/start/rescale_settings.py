"""The settings of a division of state among another number of partitions."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("RescaleSettings",)


@dataclass(frozen=True)
class RescaleSettings:
    """The permission to divide state among another number of partitions.

    Attributes:
        by_key: Stores of custom processors whose keys are the keys of the records. The library
            does not know the keys of these stores, so they are divided only if they are named.
        allow_unread: Whether old partitions may have unread records. The task of the old partition
            processes such a record without the state of its key, if the key belongs to another
            task; a join raises `MisplacedKeyError`.
        only_more: Whether only stores that get more partitions are divided.
    """

    by_key: frozenset[str] = frozenset()
    allow_unread: bool = False
    only_more: bool = False
