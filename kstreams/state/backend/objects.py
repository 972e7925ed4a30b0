"""The contract of durable storage: named immutable objects.

Implemented here for a directory (`kstreams.state.log.directory.DirectoryObjectStore`); S3
and others are one file each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from kstreams.errors import InvalidNameError
from kstreams.names import shown_name

__all__ = ("ObjectStore", "ObjectStoreSettings", "object_name_parts")


class ObjectStore(Protocol):
    """Named immutable objects with a conditional create. Names are `/`-separated paths.

    Safe for several processes and machines at once. Errors of the storage come out as
    `StoreError`; an object that is not there as `KeyError`-compatible `ObjectMissingError`.
    """

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object, durably and whole, unless its name exists already.

        Returns:
            True when this call created it, False when the name was taken (its contents
            are then untouched).
        """
        ...

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return an object's bytes, or a range of them.

        Raises:
            ObjectMissingError: There is no such object.
        """
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """Yield, in sorted order, the names that start with a prefix."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; names that do not exist are no error."""
        ...


class ObjectStoreSettings(Protocol):
    """The settings of durable storage: small, picklable, and without visible secrets."""

    def open(self) -> ObjectStore:
        """Open the storage in this process; called once a worker, not once a batch.

        Raises:
            StoreOpenError: The storage cannot be reached with these settings.
        """
        ...


def object_name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of an object's name.

    Raises:
        InvalidNameError: It is not a relative path of plain parts; a `ValueError`, too.
    """
    parts = tuple(name.split("/"))
    if any(part == "" or part.startswith(".") or "\0" in part for part in parts):
        raise InvalidNameError(
            f"{shown_name(name)} is no object name: parts must not be empty or begin with a dot",
            name=name,
            hint="",
        )
    return parts
