"""An object store in a dictionary that counts requests."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from kstreams.errors import ObjectMissingError


class ObjectDict:
    """Objects in memory that tests may damage; counts requests."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.calls = {"put": 0, "get": 0, "list": 0, "delete": 0}
        self._lock = threading.Lock()

    def put_if_absent(self, name: str, data: bytes) -> bool:
        with self._lock:
            self.calls["put"] += 1
            if name in self.objects:
                return False
            self.objects[name] = data
            return True

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        self.calls["get"] += 1
        try:
            return self.objects[name][start : None if length is None else start + length]
        except KeyError as error:
            raise ObjectMissingError(f"no object {name!r}") from error

    def list(self, prefix: str) -> Iterator[str]:
        self.calls["list"] += 1
        yield from sorted(name for name in list(self.objects) if name.startswith(prefix))

    def delete(self, names: Iterable[str]) -> None:
        self.calls["delete"] += 1
        for name in list(names):
            self.objects.pop(name, None)
