"""Files and objects as a sink: one for each task and batch, seen after the commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar
from uuid import uuid4

from kstreams import Record
from kstreams.errors import InvalidNameError, SinkError, SinkUnavailableError, StoreError
from kstreams.sinks import CommitId, Guarantee, RefusedRow, Results, Writer
from kstreams.state import object_name_parts
from kstreams_objects.formats import Columns, FileFormat
from kstreams_objects.place import MovingStore, Place, as_place
from kstreams_rows.encoding import made
from kstreams_rows.refusing import Refusals, refused

__all__ = ("Objects",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_STAGED = "_staged"
_DIGITS = 16
"""Of a lane's name, in hex."""
_STEP_BYTES = 255
_LARGEST_BYTES = 5_000_000_000
"""What S3 copies by one request."""


@dataclass(frozen=True, repr=False)
class Objects(Generic[K, V]):
    """Writes a task's results of a batch as one file, exactly once.

    The file is staged below `_staged/` while the batch runs, and gets its name when the batch is
    committed: readers see whole files of committed batches alone. Its name is
    `<lane>-<batch>.<extension>`: files of a task sort by time, and those of another task, sink or
    life (a reset, a rescale, a fork) have other names. A file is made in memory.

    Results that have no form in the format are refused alone, before anything is written.

    Args:
        place: A directory's path, which driver and workers share, or `kstreams_s3.S3(...)`.
        format: `JsonLines()`, `CsvTable(...)` or `Parquet(...)`.
        row: Makes the columns of a row from key and value; None leaves the result out.
        folder: Makes from key and value the folder that a row's file is in, such as
            `day=2026-01-31`; each folder gets a file of its own. Steps are divided by `/`; none
            may be empty or begin with `.` or `_`.

    Raises:
        ValueError: The place is a URL, or empty.
    """

    place: str | Place
    _: KW_ONLY
    format: FileFormat
    row: Callable[[K, V], Columns | None]
    folder: Callable[[K, V], str] | None = None

    def __post_init__(self) -> None:
        as_place(self.place)

    def __repr__(self) -> str:
        """Show all but the functions, and no secret."""
        return f"Objects({as_place(self.place).place!r}, format={self.format!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"files in {as_place(self.place).place}"

    @property
    def guarantee(self) -> Guarantee:
        """Exactly once."""
        return "exactly-once"

    def prepare(self) -> None:
        """See that the storage answers.

        Raises:
            SinkUnavailableError: It does not answer, or refuses.
        """
        with _errors():
            for _ in self._store.list(f"{_STAGED}/-"):
                pass

    def open(self) -> Writer[K, V]:
        """Open a writer."""
        with _errors():
            return _ObjectsWriter(self, self._store)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Give the staged files of a batch's tasks their names.

        One that is not staged any more was given its name before; where another attempt's has the
        name, that one is seen.

        Raises:
            SinkUnavailableError: The storage does not answer.
            SinkError: A receipt is none of ours.
        """
        with _errors():
            for commit in sorted(receipts, key=lambda each: (each.task, each.order)):
                for receipt in receipts[commit]:
                    staged, name = _read(receipt)
                    self._store.move(staged, name)

    @cached_property
    def _store(self) -> MovingStore:
        """The storage, opened once in a process."""
        return as_place(self.place).open()

    def __getstate__(self) -> dict[str, object]:
        """Travel without what is open."""
        return {name: each for name, each in self.__dict__.items() if name != "_store"}


class _ObjectsWriter(Generic[K, V]):
    """A `Writer` that stages files."""

    def __init__(self, sink: Objects[K, V], store: MovingStore) -> None:
        self._sink = sink
        self._store = store
        self._swept: set[str] = set()

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Stage a batch's results; return which files are to get which names."""
        records = results.records()
        found, wrong = made(records, self._row)
        files: dict[str, bytes] = {}
        for folder, rows in _by_folder(found).items():
            encoded = self._sink.format.encode([columns for _, columns in rows])
            if encoded.data is not None:
                files[folder] = encoded.data
            wrong += _refused(records, rows, encoded.refused)
        Refusals(results, "the storage").tell(sorted(wrong, key=lambda each: each.row))
        with _errors():
            return [self._stage(commit, folder, data) for folder, data in files.items()]

    def close(self) -> None:
        """Hold nothing."""

    def _stage(self, commit: CommitId, folder: str, data: bytes) -> str:
        lane = _lane(commit)
        self._sweep(lane, commit)
        end = self._sink.format.extension
        if len(data) > _LARGEST_BYTES:
            raise SinkError(
                f"a file has {len(data)} bytes, and storage gives new names to {_LARGEST_BYTES}",
                hint="make batches smaller, or divide files by folder=.",
            )
        staged = f"{_STAGED}/{lane}/{commit.batch:012d}-{uuid4().hex}{end}"
        self._store.put_if_absent(staged, data)
        at = f"{folder}/" if folder else ""
        return json.dumps([staged, f"{at}{lane}-{commit.batch:012d}{end}"])

    def _sweep(self, lane: str, commit: CommitId) -> None:
        """Remove once what attempts at batches before have left: it was shown, or never counts."""
        if lane not in self._swept:
            self._swept.add(lane)
            prefix = f"{_STAGED}/{lane}/"
            bound = f"{prefix}{commit.batch:012d}"
            self._store.delete([name for name in self._store.list(prefix) if name < bound])

    def _row(self, record: Record[Any, Any]) -> tuple[str, Columns] | None:
        columns: object = self._sink.row(record.key, record.value)
        if columns is None:
            return None
        if not isinstance(columns, Mapping):
            raise TypeError(f"a row is a mapping, not a {type(columns).__name__}")
        where = self._sink.folder
        return ("" if where is None else _checked(where(record.key, record.value)), columns)


def _by_folder(
    found: Sequence[tuple[int, tuple[str, Columns]]],
) -> dict[str, list[tuple[int, Columns]]]:
    """Return numbers and rows of each folder, in order."""
    files: dict[str, list[tuple[int, Columns]]] = {}
    for number, (folder, columns) in found:
        files.setdefault(folder, []).append((number, columns))
    return files


def _refused(
    records: Sequence[Record[Any, Any]],
    rows: Sequence[tuple[int, Columns]],
    reasons: Mapping[int, str],
) -> list[RefusedRow]:
    """Return what is said of rows that their file does not take."""
    found: list[RefusedRow] = []
    for place, reason in reasons.items():
        number, columns = rows[place]
        found.append(refused(number, records[number], reason, value=dict(columns)))
    return found


def _checked(folder: object) -> str:
    """Return a folder that leads nowhere else, and that no reader passes over.

    Raises:
        InvalidNameError, TypeError: It is none.
    """
    if not isinstance(folder, str):
        raise TypeError(f"a folder is a text, not a {type(folder).__name__}")
    for part in object_name_parts(folder):
        if part.startswith("_") or not part.isprintable() or len(part.encode()) > _STEP_BYTES:
            raise InvalidNameError(f"{folder[:80]!r} is no folder's name", name=folder)
    return folder


def _lane(commit: CommitId) -> str:
    """Return what all batches of a task have in common, and no others."""
    named = json.dumps([commit.life, commit.sink]).encode()
    return f"{hashlib.sha256(named).hexdigest()[:_DIGITS]}-{commit.task:05d}"


def _read(receipt: str) -> tuple[str, str]:
    try:
        staged, name = json.loads(receipt)
        for each in (staged, name):
            object_name_parts(each)
    except (ValueError, TypeError, AttributeError):
        raise SinkError(
            f"{receipt!r} is no receipt of a staged file",
            hint="the checkpoint was written by another sink of this name: give the node another.",
        ) from None
    return staged, name


@contextmanager
def _errors() -> Iterator[None]:
    """Raise what the storage says as a sink's."""
    try:
        yield
    except StoreError as exc:
        code = str(getattr(exc, "code", ""))
        raise SinkUnavailableError(exc.message, code, hint=exc.hint) from None
