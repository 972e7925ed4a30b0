"""A custom state backend on SQLite, for `App(state=Sqlite())`.

A backend keeps a directory for each version of a task's state. It needs no locks, no log and no
fsync, because the durable log is authoritative. `tests/examples/test_custom_store.py` tests it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kstreams.errors import StoreError, StoreOpenError
from kstreams.state import Changes, ObjectStoreSettings

FILE = "state.sqlite"
TABLE = "create table if not exists t (store text, k blob, v blob, primary key (store, k))"
DELETE = "delete from t where store = ? and k >= ? and k < ?"


@dataclass(frozen=True)
class Sqlite:
    """The settings for `App(state=...)`, which are sent to the workers."""

    directory: str | None = None
    log: ObjectStoreSettings | None = None
    name: str = "sqlite"

    def open(self, directory: Path, stores: Sequence[str]) -> SqliteStore:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            return SqliteStore(directory, stores)
        except (OSError, sqlite3.Error) as error:
            raise StoreOpenError(f"SQLite cannot open {directory}: {error}") from error

    def branch(self, source: Path, target: Path) -> bool:
        if not (source / FILE).exists():
            return False
        shutil.copytree(source, target)
        return True

    def remove(self, directory: Path) -> None:
        shutil.rmtree(directory, ignore_errors=True)


class SqliteStore:
    """An open version of a task's state: a table of (store, key, value), sorted by key bytes."""

    def __init__(self, directory: Path, stores: Sequence[str]) -> None:
        self._stores = frozenset(stores)
        self._database = sqlite3.connect(directory / FILE, check_same_thread=False)
        self._database.executescript(f"pragma synchronous = off; {TABLE}")

    def get(self, store: str, key: bytes) -> bytes | None:
        return next((v for (v,) in self._rows(store, "select v", "and k = ?", key)), None)

    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(store, key) for key in keys]

    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        below = () if end is None else (end,)
        where = f"and k >= ? {'and k < ?' * len(below)} order by k {'desc' * reverse}"
        return iter(self._rows(store, "select k, v", where, start or b"", *below))

    def count(self, store: str) -> int:
        return int(self._rows(store, "select count(*)", "")[0][0])

    def write(self, changes: Changes) -> None:
        try:
            with self._database as transaction:
                for store, changed in changes.items():
                    name, pairs = self._known(store), changed.pairs
                    gone = [*changed.ranges, *((k, k + b"\0") for k, v in pairs if v is None)]
                    kept = [(name, *pair) for pair in pairs if pair[1] is not None]
                    transaction.executemany(DELETE, [(name, *keys) for keys in gone])
                    transaction.executemany("insert or replace into t values (?, ?, ?)", kept)
        except sqlite3.Error as error:
            raise StoreError(f"SQLite cannot write: {error}") from error

    def close(self) -> None:
        self._database.close()

    def _rows(self, store: str, select: str, where: str, *values: bytes) -> list[Any]:
        query = f"{select} from t where store = ? {where}"
        try:
            return self._database.execute(query, (self._known(store), *values)).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"SQLite cannot read: {error}") from error

    def _known(self, store: str) -> str:
        if store not in self._stores:
            raise StoreError(f"no such store: {store!r}")
        return store
