"""The in-memory working store: the fastest kind, also for tests.

It keeps a task's state in dictionaries. The process keeps the contents of closed stores in memory,
by the path of their directory. The directory itself is empty and shows other processes that the
version exists; they restore it from the durable log. If the parent directory does not exist,
nothing is written to the disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from kstreams.errors import StoreError, Where
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.sorted_keys import SortedKeys
from kstreams.state.backend.working import Changes, KeyRange, Pair, WorkingStore

__all__ = ("Memory", "MemoryStore")

_CHECK_S = 1.0


@dataclass(frozen=True)
class Memory:
    """The settings of the in-memory backend; state must fit into the workers' memory.

    Args:
        directory: The parent of the empty directories that mark local versions; None: the library's
            default.
        log: The durable log of deltas and snapshots; None: in the checkpoint.
    """

    directory: str | None = None
    log: ObjectStoreSettings | None = None

    @property
    def name(self) -> str:
        """Return `memory`."""
        return "memory"

    def open(self, directory: Path, stores: Sequence[str]) -> WorkingStore:
        """Open the store that this process closed in a directory, or create an empty store."""
        closed = _CLOSED.take(str(directory))
        return MemoryStore(stores, directory, closed.tables if closed else None)

    def branch(self, source: Path, target: Path) -> bool:
        """Move the closed store of `source` to `target`; return False if there is none.

        Only a store that this process has closed can be moved.
        """
        closed = _CLOSED.take(str(source))
        if closed is None:
            return False
        if closed.marked:
            _move(source, target)
        _CLOSED.keep(target, closed.tables)
        return True

    def copy(self, source: Path, target: Path) -> bool:
        """Copy the closed store of `source` to `target`; return False if there is none.

        Only a store that this process has closed can be copied.
        """
        closed = _CLOSED.find(str(source))
        if closed is None:
            return False
        _CLOSED.keep(target, {name: table.copy() for name, table in closed.tables.items()})
        return True

    def remove(self, directory: Path) -> None:
        """Drop the closed store of a directory, and remove the empty directory."""
        _CLOSED.take(str(directory))
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(
                f"cannot remove the directory {directory} of an in-memory store: {error}",
                hint="Empty the directory: only the library may write there.",
            ) from error


class MemoryStore(WorkingStore):
    """The state of one task in dictionaries. The store needs no directory when used alone.

    `get`, `multi_get` and `write` cost as much as dictionary operations; the first scan or deleted
    range of a store sorts its keys. A scan yields the keys that existed at its start, without those
    deleted meanwhile, with their current values (read for up to a thousand keys at a time).
    """

    def __init__(
        self,
        stores: Sequence[str],
        directory: Path | None = None,
        tables: dict[str, _Table] | None = None,
    ) -> None:
        self._directory = directory
        self._tables = {} if tables is None else tables
        for store in stores:
            self._tables.setdefault(store, _Table())
        self._closed = False

    @override
    def get(self, store: str, key: bytes) -> bytes | None:
        return self._table(store).data.get(key)

    @override
    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return list(map(self._table(store).data.get, keys))

    @override
    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._pairs(self._table(store).chunks(start, end, reverse=reverse))

    def _pairs(self, chunks: Iterator[list[tuple[bytes, bytes]]]) -> Iterator[tuple[bytes, bytes]]:
        for chunk in chunks:
            for pair in chunk:
                if self._closed:
                    raise StoreError(
                        "the store was closed while this scan was open",
                        hint="Read all rows before the batch ends.",
                    )
                yield pair

    def count(self, store: str) -> int:
        """Return the exact number of keys of a store."""
        return len(self._table(store).data)

    def copy(self) -> MemoryStore:
        """Return an independent store with the same contents, without a directory."""
        return MemoryStore((), None, {name: each.copy() for name, each in self._tables.items()})

    def write(self, changes: Changes) -> None:
        """Apply all changes; an unknown store raises `StoreError` before any change is applied."""
        for table, changed in [(self._table(store), each) for store, each in changes.items()]:
            table.delete(changed.ranges)
            table.write(changed.pairs)

    def close(self) -> None:
        """Keep the contents in this process under the directory's path; a second call does nothing.

        The next `Memory.open` of the directory returns a store with these contents.
        """
        if self._closed:
            return
        self._closed = True
        tables, self._tables = self._tables, {}
        if self._directory is not None:
            _CLOSED.keep(self._directory, tables)

    def _table(self, store: str) -> _Table:
        table = self._tables.get(store)
        if table is not None:
            return table
        if self._closed:
            raise StoreError("the in-memory store is closed", where=Where(store=store))
        raise StoreError(
            f"no such store; this task has {sorted(self._tables)}", where=Where(store=store)
        )


class _Table:
    """The pairs of one store, and an index of its keys, which the first scan creates.

    The index has the keys of `data` and the deleted keys in `dead`, each once.
    """

    __slots__ = ("data", "dead", "index")

    def __init__(self) -> None:
        self.data: dict[bytes, bytes] = {}
        self.dead: set[bytes] = set()
        self.index: SortedKeys | None = None

    def copy(self) -> _Table:
        made = _Table()
        made.data = self.data.copy()
        return made

    def delete(self, ranges: Sequence[KeyRange]) -> None:
        for start, end in ranges:
            for keys in self._sorted().chunks(start, end):
                gone = [key for key in keys if self.data.pop(key, None) is not None]
                self.dead.update(gone)

    def write(self, pairs: Sequence[Pair]) -> None:
        if self.index is not None:
            self._mark(pairs, self.index)
        data = self.data
        for key, value in pairs:
            if value is None:
                data.pop(key, None)
            else:
                data[key] = value

    def _mark(self, pairs: Sequence[Pair], index: SortedKeys) -> None:
        data, dead = self.data, self.dead
        fresh = []
        for key, value in pairs:
            if value is None:
                if key in data:
                    dead.add(key)
            elif key in dead:
                dead.discard(key)
            elif key not in data:
                fresh.append(key)
        index.add(fresh)

    def chunks(
        self, start: bytes | None, end: bytes | None, *, reverse: bool
    ) -> Iterator[list[tuple[bytes, bytes]]]:
        data = self.data
        for keys in self._sorted().chunks(start, end, reverse=reverse):
            yield [(key, data[key]) for key in keys if key in data]

    def _sorted(self) -> SortedKeys:
        if self.index is None or len(self.dead) > len(self.data):
            self.index = SortedKeys(self.data)
            self.dead = set()
        return self.index


@dataclass(frozen=True)
class _Closed:
    """The tables of a closed working store. `marked`: whether the store has a directory on disk."""

    tables: dict[str, _Table]
    marked: bool

    def is_removed(self, directory: str) -> bool:
        """Return whether another process has removed the store's directory."""
        return self.marked and not os.path.isdir(directory)  # noqa: PTH112 - as above


class _ClosedStores:
    """The closed stores of this process, by the paths of their directories.

    The directory of a store disappears when the task has moved and another process removes it. Such
    a store is dropped when it is looked up, and at a check of all stores once a second: a check at
    each look-up would take a time that grows with the square of the number of tasks.
    """

    def __init__(self) -> None:
        self._stores: dict[str, _Closed] = {}
        self._checked_at = -_CHECK_S

    def __iter__(self) -> Iterator[str]:
        return iter(self._stores)

    def clear(self) -> None:
        """Drop all closed stores, as the end of the process does."""
        self._stores.clear()

    def find(self, directory: str) -> _Closed | None:
        """Return the closed store of a directory."""
        if time.monotonic() - self._checked_at > _CHECK_S:
            self._drop_removed()
        closed = self._stores.get(directory)
        if closed is not None and closed.is_removed(directory):
            del self._stores[directory]
            return None
        return closed

    def take(self, directory: str) -> _Closed | None:
        """Remove and return the closed store of a directory."""
        closed = self.find(directory)
        if closed is not None:
            del self._stores[directory]
        return closed

    def keep(self, directory: Path, tables: dict[str, _Table]) -> None:
        """Keep the tables of a store, and mark its directory on the disk.

        Raises:
            StoreError: The directory cannot be created.
        """
        marked = os.path.isdir(directory.parent)  # noqa: PTH112 - several times in a batch
        try:
            if marked:
                directory.mkdir(exist_ok=True)
        except OSError as error:
            raise _failed("create", directory, error) from error
        self._stores[str(directory)] = _Closed(tables, marked)

    def _drop_removed(self) -> None:
        self._stores = {
            directory: closed
            for directory, closed in self._stores.items()
            if not closed.is_removed(directory)
        }
        self._checked_at = time.monotonic()


_CLOSED = _ClosedStores()


def _move(source: Path, target: Path) -> None:
    """Rename the directory of a closed store."""
    try:
        os.rename(source, target)  # noqa: PTH104 - several times in a batch
    except FileNotFoundError:  # `keep` creates the target if its parent exists
        with suppress(OSError):
            source.rmdir()
    except OSError as error:
        raise _failed("rename", source, error) from error


def _failed(action: str, directory: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot {action} the directory {directory} of an in-memory store: {error}",
        hint="Give the backend a directory that this user can write to: Memory(directory=...).",
    )
