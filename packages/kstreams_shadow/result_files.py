"""Files with the results that a replica has held back, by batch, sink and task."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from kstreams.errors import StateCorruptError
from kstreams.files import write_new

__all__ = ("ResultFiles", "ResultSource")

_SOURCE = b"kstreams.source"


@dataclass(frozen=True, order=True)
class ResultSource:
    """The origin of a file of results.

    Attributes:
        kind: `sink` or `dead letters`.
        name: The name of the sink's node, or the topic of the dead letters.
        group: The name of the partition group.
        task: The partition of the task.
    """

    kind: str
    name: str
    group: str
    task: int

    @property
    def label(self) -> str:
        """The name of the sink; for dead letters, `dead letters: TOPIC`."""
        return self.name if self.kind == "sink" else f"{self.kind}: {self.name}"

    def to_json(self) -> str:
        """Return the source as JSON."""
        return json.dumps([self.kind, self.name, self.group, self.task])

    @classmethod
    def from_json(cls, text: bytes) -> ResultSource:
        """Parse the result of `to_json`."""
        kind, name, group, task = json.loads(text)
        return cls(str(kind), str(name), str(group), int(task))


class ResultFiles:
    """The results of one query of a replica, in a folder of files that replace each other.

    A task writes its results before the commit of its batch, so a committed batch has all of its
    files. A repeated batch writes the same files again.

    Args:
        folder: The folder; it is created by the first write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, batch: int, source: ResultSource, table: pa.Table) -> None:
        """Write the results of one sink of a task in a batch, atomically."""
        place = self._folder / f"{batch:020d}"
        place.mkdir(parents=True, exist_ok=True)
        schema = table.schema.with_metadata({_SOURCE: source.to_json().encode()})
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_file(buffer, schema) as writer:
            writer.write_table(table.cast(schema))
        temporary = place / f".{uuid4().hex}"
        write_new(temporary, buffer.getvalue(), durable=True)
        name = sha256(source.to_json().encode()).hexdigest()[:32]
        temporary.replace(place / f"{name}.arrow")

    def read(self, after: int, to: int) -> Iterator[tuple[ResultSource, pa.Table]]:
        """Yield the results of batches in order, by source within each batch.

        Args:
            after: The number of the batch before the first batch.
            to: The number of the last batch.

        Raises:
            StateCorruptError: A file is damaged.
        """
        for batch in self._batches():
            if after < batch <= to:
                paths = (self._folder / f"{batch:020d}").glob("*.arrow")
                yield from sorted(map(_read, paths), key=lambda found: found[0])

    def forget(self, to: int) -> None:
        """Delete the results of batches up to a number."""
        for batch in self._batches():
            if batch <= to:
                shutil.rmtree(self._folder / f"{batch:020d}", ignore_errors=True)

    def _batches(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(place.name) for place in self._folder.iterdir() if place.name.isdigit())


def _read(path: Path) -> tuple[ResultSource, pa.Table]:
    try:
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            table = reader.read_all()
        return ResultSource.from_json((table.schema.metadata or {})[_SOURCE]), table
    except (pa.ArrowException, KeyError, ValueError) as exc:
        raise StateCorruptError(
            f"the results in {str(path)!r} cannot be read: {exc}",
            hint="remove the directory of the shadow, and start it again from a savepoint.",
        ) from exc
