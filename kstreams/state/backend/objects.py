"""The contract of durable storage: named immutable objects.

`kstreams.state.log.directory.DirectoryObjectStore` implements it for a directory; plugins implement
it for S3 and other storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from kstreams.errors import InvalidNameError
from kstreams.names import shown_name

__all__ = ("ObjectStore", "ObjectStoreSettings", "object_name_parts")


class ObjectStore(Protocol):
    """Named immutable objects with a conditional create. Names are `/`-separated paths.

    Several processes and machines may use it at the same time. Errors of the storage are raised as
    `StoreError`, a missing object as `ObjectMissingError`, which is also a `KeyError`.
    """

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object durably and atomically, unless its name exists already.

        Returns:
            True if this call created the object, False if an object of this name exists (it
            then stays unchanged).
        """
        ...

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return the bytes of an object from `start` on: at most `length` bytes, or all by default.

        Raises:
            ObjectMissingError: The object does not exist.
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
        """Open the storage in this process; called once per worker, not once per batch.

        Raises:
            StoreOpenError: The storage cannot be reached with these settings.
        """
        ...


def object_name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of an object's name, which slashes separate.

    Raises:
        InvalidNameError: A part is empty or begins with a dot; also a `ValueError`.
    """
    parts = tuple(name.split("/"))
    if any(part == "" or part.startswith(".") or "\0" in part for part in parts):
        raise InvalidNameError(
            f"{shown_name(name)} is not an object name: the parts between slashes must not be "
            "empty, begin with a dot or have a null character",
            name=name,
            hint="",
        )
    return parts
