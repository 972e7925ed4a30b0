"""Where files go: storage that can give what it has another name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Protocol

from kstreams.state import Directory

__all__ = ("MovingStore", "Place", "as_place")


class MovingStore(Protocol):
    """What a sink of files asks of storage; errors are `StoreError`."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object, durably and whole, unless its name exists; tell whether it did."""
        ...

    def move(self, name: str, to: str, *, replace: bool = False) -> bool:
        """Give an object another name, where it is seen whole; tell whether there was one.

        One that has the other name already stays, and this one is deleted; with `replace` it is
        the other way round. Where there is none of the first name, nothing happens.
        """
        ...

    def obstacle(self, name: str) -> str:
        """Return what is in the way of a name, such as a file where it needs a folder.

        Empty if nothing is; always where storage has no folders.
        """
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """Yield, in sorted order, the names that start with a prefix."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; names that do not exist are no error."""
        ...


class Place(Protocol):
    """Settings of such a storage, picklable and without a secret in their texts.

    A sink's files are there exactly once. A place that promises less says so by an attribute
    `guarantee`.
    """

    @property
    def place(self) -> str:
        """What to call it in texts."""
        ...

    def open(self) -> MovingStore:
        """Open the storage in this process."""
        ...


def as_place(place: str | os.PathLike[str] | Place) -> Place:
    """Return settings for a directory's path; others as they are.

    Raises:
        TypeError: It is neither a path nor settings of a storage.
        ValueError: The text is a URL, or empty.
    """
    if isinstance(place, os.PathLike):
        place = os.fspath(place)
    if not isinstance(place, str):
        if not (callable(getattr(place, "open", None)) and hasattr(place, "place")):
            raise TypeError(
                "files go to a directory's path or to settings of a storage; "
                f"{type(place).__name__} is neither"
            )
        return place
    if not place or "://" in place:
        shown = place.split("://", 1)[0] + "://…" if place else place
        raise ValueError(
            f"{shown!r} is no path of a directory: for objects in S3 give "
            "kstreams_s3.S3('s3://bucket/prefix'), in Google's storage kstreams_gcs.GCS, on a "
            "server of SFTP kstreams_sftp.Sftp"
        )
    return Directory(place)
