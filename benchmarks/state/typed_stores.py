"""Operations per second of typed stores, through the overlay of a batch."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.measured import Times
from kstreams import INT64, TEXT, key_value_store, timestamped_store
from kstreams.state import Memory, StateBackend
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import FixedTimes
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.versions.versions import TaskVersions
from kstreams.stores import (
    StoreSpec,
    list_store,
    session_store,
    versioned_key_value_store,
    window_store,
)
from kstreams.windowed import Windowed
from kstreams_rocksdb import RocksDB

__all__ = ("access", "kinds")

_MINUTE = 60_000


@dataclass(frozen=True)
class Kind:
    """One kind of store, with its put, get and range operations on a numbered key."""

    spec: StoreSpec[Any]
    put: Callable[[Any, str, int], object]
    get: Callable[[Any, str, int], object]
    range: Callable[[Any], Iterator[Any]]


def _window(key: str, number: int) -> Windowed[str]:
    start = number % 60 * _MINUTE
    return Windowed(key, start, start + _MINUTE)


KINDS = (
    Kind(
        key_value_store("key-value", key=TEXT, value=INT64),
        lambda store, key, n: store.put(key, n),
        lambda store, key, n: store.get(key),
        lambda store: store.range(),
    ),
    Kind(
        key_value_store("with ttl", key=TEXT, value=INT64, ttl=timedelta(hours=1)),
        lambda store, key, n: store.put(key, n),
        lambda store, key, n: store.get(key),
        lambda store: store.range(),
    ),
    Kind(
        timestamped_store("timestamped", key=TEXT, value=INT64),
        lambda store, key, n: store.put(key, n, n),
        lambda store, key, n: store.get(key),
        lambda store: store.range(),
    ),
    Kind(
        window_store("window", key=TEXT, value=INT64),
        lambda store, key, n: store.put(_window(key, n), n),
        lambda store, key, n: store.get(_window(key, n)),
        lambda store: store.fetch_all(),
    ),
    Kind(
        session_store("session", key=TEXT, value=INT64),
        lambda store, key, n: store.put(Windowed(key, n, n + _MINUTE), n),
        lambda store, key, n: list(store.find_sessions(key, n, n + _MINUTE)),
        lambda store: store.fetch_all(),
    ),
    Kind(
        versioned_key_value_store("versioned", key=TEXT, value=INT64, retention=timedelta(1)),
        lambda store, key, n: store.put(key, n, n),
        lambda store, key, n: store.get(key),
        lambda store: store.range(),
    ),
    Kind(
        list_store("list", key=TEXT, value=INT64),
        lambda store, key, n: store.append(key, n),
        lambda store, key, n: store.get(key),
        lambda store: store.lengths(),
    ),
)


class StoreTask:
    """A task with one store, whose batches are opened and committed as on Spark."""

    def __init__(self, spec: StoreSpec[Any], backend: StateBackend, home: Path) -> None:
        self.spec, self.backend, self.home = spec, backend, home
        self.pointer = Pointer.empty()

    @contextmanager
    def batch(self) -> Iterator[Any]:
        """Yield the live store of a batch with an empty overlay; commit the batch at the end."""
        log, key = DirectoryObjectStore(self.home / "log"), TaskKey("bench", "g", 0)
        versions = TaskVersions(self.backend, self.home / "local", log, key, [self.spec.name])
        with versions.checkout(self.pointer, Attempt(new_attempt(), 0)) as checkout:
            overlay = Overlay(checkout.store, times=FixedTimes(0, 0))
            yield self.spec.open(overlay)
            self.pointer = checkout.commit(overlay.changes(), {})


def kinds(home: Path, smoke: bool) -> dict[str, Any]:
    """Measure every kind on every backend."""
    count, rounds = (500, 1) if smoke else (20_000, 3)
    found: dict[str, Any] = {}
    print(f"\n{count:,} keys; operations a second (a processor second), best of {rounds}")
    print(f"{'':24}{'put':>25}{'cold get':>25}{'hot get':>25}{'rows of a range':>25}")
    for backend in (Memory(), RocksDB()):
        for kind in KINDS:
            times = [Times(), Times(), Times(), Times()]
            for number in range(rounds):
                _measure(kind, backend, home / f"{number}", count, times)
            name = f"{kind.spec.name} {backend.name}"
            print(f"{name:24}{' '.join(t.rate(count) for t in times)}", flush=True)
            labels = ("put", "cold get", "hot get", "range")
            found[name] = {k: t.figures(count) for k, t in zip(labels, times, strict=True)}
    return found


def _measure(kind: Kind, backend: StateBackend, home: Path, count: int, times: list[Times]) -> None:
    task, put, get = StoreTask(kind.spec, backend, home), kind.put, kind.get
    keys = [(f"key-{n:07d}", n) for n in range(count)]
    Random(1).shuffle(keys)
    with task.batch() as store, times[0]:
        for key, n in keys:
            put(store, key, n)
    Random(2).shuffle(keys)
    with task.batch() as store:
        for timer in times[1:3]:
            with timer:
                for key, n in keys:
                    get(store, key, n)
    with task.batch() as store, times[3]:
        rows = sum(1 for _ in kind.range(store))
    if rows != count:
        raise SystemExit(f"{kind.spec.name}: a range of {rows} rows, expected {count}")
    shutil.rmtree(home)


def access(home: Path, smoke: bool) -> dict[str, Any]:
    """Measure pairs of a get and a put of one key, the access pattern of an aggregation."""
    stored, hot, rounds = (5_000, 500, 1) if smoke else (200_000, 1_000, 5)
    spec = key_value_store("s", key=TEXT, value=INT64)
    found: dict[str, Any] = {}
    print(f"\nget and put of a key, {stored:,} stored; pairs a second (a processor second)")
    for backend in (Memory(), RocksDB()):
        task = StoreTask(spec, backend, home / backend.name)
        keys = [f"key-{n:07d}" for n in range(stored)]
        with task.batch() as store:
            store.put_many(keys, range(stored))
        shuffled = keys[:]
        Random(1).shuffle(shuffled)
        few = Random(2).choices(keys[:hot], k=stored)
        shown = {"hot": Times(), "cold": Times(), "cold, read ahead": Times()}
        for _ in range(rounds):
            with task.batch() as store:
                _pairs(store, keys[:hot])
                with shown["hot"]:
                    _pairs(store, few)
            with task.batch() as store, shown["cold"]:
                _pairs(store, shuffled)
            with task.batch() as store, shown["cold, read ahead"]:
                store.get_many(shuffled)
                _pairs(store, shuffled)
        for label, times in shown.items():
            name = f"{label}, {backend.name}"
            print(f"{name:30}{times.rate(stored)}", flush=True)
            found[name] = times.figures(stored)
    return found


def _pairs(store: Any, keys: list[str]) -> None:
    get, put = store.get, store.put
    for key in keys:
        put(key, (get(key) or 0) + 1)
