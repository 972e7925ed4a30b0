"""Where files go: storage that can give what it has another name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from kstreams.state import Directory

__all__ = ("MovingStore", "Place", "as_place")


class MovingStore(Protocol):
    """What a sink of files asks of storage; errors are `StoreError`."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object, durably and whole, unless its name exists; tell whether it did."""
        ...

    def move(self, name: str, to: str) -> bool:
        """Give an object another name, where it is seen whole; tell whether there was one.

        One that has the other name already stays, and this one is deleted.
        """
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """Yield, in sorted order, the names that start with a prefix."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; names that do not exist are no error."""
        ...


class Place(Protocol):
    """Settings of such a storage, picklable and without a secret in their texts."""

    @property
    def place(self) -> str:
        """What to call it in texts."""
        ...

    def open(self) -> MovingStore:
        """Open the storage in this process."""
        ...


def as_place(place: str | Place) -> Place:
    """Return settings for a directory's path; others as they are.

    Raises:
        ValueError: The text is a URL, or empty.
    """
    if not isinstance(place, str):
        return place
    if not place or "://" in place:
        shown = place.split("://", 1)[0] + "://…" if place else place
        raise ValueError(
            f"{shown!r} is no path of a directory: for objects in S3 give "
            "kstreams_s3.S3('s3://bucket/prefix')"
        )
    return Directory(place)
