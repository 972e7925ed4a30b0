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
"""2,880 PUT a day for each name that is written."""
_MOST_PARTS = 120
"""Of lines: an hour's or more."""
_NUMBER = re.compile(r"\d{20}")


@dataclass(frozen=True)
class ObjectTelemetry:
    """`TelemetryFiles` in an object store; see there.

    Nothing is written in an object's place: a document is the object of the highest number
    below its name, lines are the objects below theirs, an object for each time that lines are
    added. One PUT and one DELETE each time, and one LIST when a process first writes a name;
    reading is a LIST, and a GET for each object that is needed.

    Args:
        objects: The storage.
    """

    objects: ObjectStore
    _present: dict[str, deque[int]] = field(default_factory=dict)

    @property
    def every_s(self) -> float:
        """Writing is paid for."""
        return _EVERY_S

    def replace(self, name: str, data: bytes) -> None:
        """Write the next object; remove those before it."""
        self._add(name, data, most=1)

    def append(self, name: str, lines: Sequence[bytes]) -> None:
        """Write one object with all lines; remove objects that are too old."""
        self._add(name, b"\n".join(lines), most=_MOST_PARTS)

    def read(self, name: str) -> bytes | None:
        """Return the newest object."""
        found = self._newest(name)
        return next((data for number in reversed(found) if (data := self._get(name, number))), None)

    def lines(self, name: str, most: int) -> list[bytes]:
        """Return the last lines, of as many objects as are needed."""
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
