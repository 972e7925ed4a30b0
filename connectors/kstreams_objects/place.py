"""Storage for files: storage that can rename objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Protocol

from kstreams.state import Directory

__all__ = ("MovingStore", "Place", "as_place")


class MovingStore(Protocol):
    """The storage operations that file sinks need; they raise `StoreError`."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object durably, atomically, if absent; return whether it was created."""
        ...

    def move(self, name: str, to: str, *, replace: bool = False) -> bool:
        """Rename an object atomically; return whether it existed.

        If the new name exists, that object stays and this one is deleted; with `replace`, this one
        replaces it. If the object does not exist, nothing happens.
        """
        ...

    def obstacle(self, name: str) -> str:
        """Return the object that blocks a name, such as a file where the name needs a folder.

        Empty if nothing blocks the name; always empty for storage without folders.
        """
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """Yield, in sorted order, the names that start with a prefix."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; names that do not exist are no error."""
        ...


class Place(Protocol):
    """Settings of a storage: picklable, and without secrets in their `str` and `repr`.

    A file sink on it guarantees exactly once, unless the settings have an attribute `guarantee`
    with a weaker guarantee.
    """

    @property
    def place(self) -> str:
        """The name of the storage in logs and errors."""
        ...

    def open(self) -> MovingStore:
        """Open the storage in this process."""
        ...


def as_place(place: str | os.PathLike[str] | Place) -> Place:
    """Return storage settings: those of a directory for a path, given settings unchanged.

    Raises:
        TypeError: `place` is neither a path nor the settings of a storage.
        ValueError: The text is a URL, or empty.
    """
    if isinstance(place, os.PathLike):
        place = os.fspath(place)
    if not isinstance(place, str):
        if not (callable(getattr(place, "open", None)) and hasattr(place, "place")):
            raise TypeError(
                "expected the path of a directory or storage settings such as S3(...), got "
                f"{type(place).__name__}"
            )
        return place
    if not place or "://" in place:
        shown = place.split("://", 1)[0] + "://…" if place else place
        raise ValueError(
            f"{shown!r} is not the path of a directory: for objects in S3 give "
            "kstreams_s3.S3('s3://bucket/prefix'), for Google Cloud Storage kstreams_gcs.GCS, "
            "for an SFTP server kstreams_sftp.Sftp"
        )
    return Directory(place)
