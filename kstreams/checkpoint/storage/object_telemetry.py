"""Telemetry files of an app whose checkpoint is in object storage."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from kstreams.checkpoint.storage.telemetry_files import FOLDER
from kstreams.errors import ObjectMissingError
from kstreams.state.backend.objects import ObjectStore

__all__ = ("ObjectTelemetry",)

_EVERY_S = 30.0
"""The minimum seconds between writes: 2,880 PUT requests a day for each written name."""
_MOST_PARTS = 120
"""The maximum number of objects with lines of one name, written in an hour or more."""
_NUMBER = re.compile(r"\d{20}")


@dataclass(frozen=True)
class ObjectTelemetry:
    """`TelemetryFiles` in an object store.

    Objects are not overwritten: below each name are numbered objects. The object with the highest
    number is the document; each `append` creates an object with lines. A write costs one PUT and
    one DELETE, and the first write of a name by a process one LIST. A read costs one LIST, and one
    GET for each object read.

    Args:
        objects: The object store that has the files.
    """

    objects: ObjectStore
    _present: dict[str, deque[int]] = field(default_factory=dict)

    @property
    def every_s(self) -> float:
        """The minimum interval of writes in seconds: long, because writes cost money."""
        return _EVERY_S

    def replace(self, name: str, data: bytes) -> None:
        """Write the next object of a document, and remove earlier objects."""
        self._add(name, data, most=1)

    def append(self, name: str, lines: Sequence[bytes]) -> None:
        """Write one object with all lines, and remove the oldest objects above the limit."""
        self._add(name, b"\n".join(lines), most=_MOST_PARTS)

    def read(self, name: str) -> bytes | None:
        """Return the newest object of a document; None without one."""
        found = self._newest(name)
        return next((data for number in reversed(found) if (data := self._get(name, number))), None)

    def lines(self, name: str, most: int) -> list[bytes]:
        """Return the last `most` lines, oldest first."""
        found: list[bytes] = []
        for number in reversed(self._newest(name)):
            if len(found) >= most:
                break
            found = [*(line for line in self._get(name, number).split(b"\n") if line), *found]
        return found[-most:]

    def _add(self, name: str, data: bytes, most: int) -> None:
        present = self._present.get(name)
        if present is None:
            present = self._present[name] = deque(self._newest(name))
        number = present[-1] + 1 if present else 0
        while not self.objects.put_if_absent(_object(name, number), data):
            number += 1  # an older driver writes too, for a little while
        present.append(number)
        old = [present.popleft() for _ in range(len(present) - most)]
        if old:
            self.objects.delete([_object(name, number) for number in old])

    def _newest(self, name: str) -> list[int]:
        prefix = _object(name, None)
        numbers = (each[len(prefix) :] for each in self.objects.list(prefix))
        return [int(number) for number in numbers if _NUMBER.fullmatch(number)]

    def _get(self, name: str, number: int) -> bytes:
        try:
            return self.objects.get(_object(name, number))
        except ObjectMissingError:  # removed meanwhile
            return b""


def _object(name: str, number: int | None) -> str:
    return f"{FOLDER}/{name}/" + ("" if number is None else f"{number:020d}")
