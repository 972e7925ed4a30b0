"""An object store in memory, for the records in loops of the test driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kstreams.errors import ObjectMissingError

__all__ = ("ResidentObjects",)


class ResidentObjects:
    """An `ObjectStore` in the memory of this process."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Create an object unless it exists; see `ObjectStore`."""
        return self._objects.setdefault(name, data) is data

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return an object's bytes; see `ObjectStore`."""
        if name not in self._objects:
            raise ObjectMissingError(f"there is no object {name!r}")
        end = None if length is None else start + length
        return self._objects[name][start:end]

    def list(self, prefix: str) -> Iterator[str]:
        """Yield names that begin with a prefix, sorted."""
        yield from sorted(name for name in self._objects if name.startswith(prefix))

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; missing objects are ignored."""
        for name in list(names):
            self._objects.pop(name, None)
