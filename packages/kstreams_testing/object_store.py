"""The test suite for durable storages."""
# ruff: noqa: D102  # a test's name states its claim

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from kstreams.errors import ObjectMissingError
from kstreams.state.backend.objects import ObjectStore

__all__ = ("ObjectStoreContract",)

_THREADS = 8

T = TypeVar("T")
"""The result type of a thread."""


class ObjectStoreContract:
    """Derive a test class that implements `open`; pytest finds the tests.

    Example:
        class TestMine(ObjectStoreContract):
            def open(self, place: Path) -> ObjectStore:
                return Mine(bucket, prefix=place.name)

    Attributes:
        races: The number of races between creators of one name; use fewer if a race takes seconds.
    """

    races = 20

    def open(self, place: Path) -> ObjectStore:
        """Open the storage of a test, given its directory. A test may call this repeatedly."""
        raise NotImplementedError("override open() to open the storage")

    def test_written_object_is_read_unchanged(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        large = bytes(range(256)) * 20_000
        assert store.put_if_absent("a/b/large", large)
        assert store.put_if_absent("a/empty", b"")
        assert store.get("a/b/large") == large
        assert store.get("a/empty") == b""
        assert self.open(tmp_path).get("a/b/large") == large

    def test_put_if_absent_does_not_overwrite_object(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        assert store.put_if_absent("a", b"first")
        assert not store.put_if_absent("a", b"second")
        assert not self.open(tmp_path).put_if_absent("a", b"third")
        assert store.get("a") == b"first"

    def test_get_of_missing_object_raises_key_error_with_name(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        store.put_if_absent("a/b", b"x")
        for name in ("none", "a", "a/c", "a/b/c"):
            error = _missing(store, name)
            assert isinstance(error, KeyError)
            assert name in str(error)

    def test_get_of_range_beyond_end_returns_bytes_up_to_end(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        store.put_if_absent("a", b"0123456789")
        assert store.get("a", 3) == b"3456789"
        assert store.get("a", 3, 4) == b"3456"
        assert store.get("a", 0, 0) == b""
        assert store.get("a", 8, 100) == b"89"
        assert store.get("a", 10) == b""
        assert store.get("a", 50, 2) == b""

    def test_list_returns_names_with_prefix_in_order(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        names = ["b/2", "a/b/c", "a-b", "a/b-c", "a/a", "a0", "a/b/b", "b/10"]
        for name in names:
            store.put_if_absent(name, b"")
        for prefix in ("", "a", "a/", "a/b", "a/b/", "b/1", "a/b/c", "c", "a/bc", "b/2/x"):
            expected = sorted(name for name in names if name.startswith(prefix))
            assert list(store.list(prefix)) == expected, prefix

    def test_object_names_with_special_characters_are_kept(self, tmp_path: Path) -> None:
        """Names with the special characters that checkpoints use are kept unchanged."""
        store = self.open(tmp_path)
        names = [
            "commits/app.1f%2Fin!0001/-0000000000000000001.json",
            "commits/app.1f%2Fin!0001/00000000000000000000.json",
            "plans/app.1f/000000000007-1.json",
            "plans/app.1f/000000000007.1-1.json",
            "plans/app.1f/000000000007.json",
            f"plans/{'x' * 255}/inherited/000000000007-1f.json",
        ]
        for name in reversed(names):
            assert store.put_if_absent(name, name.encode())
        assert list(self.open(tmp_path).list("")) == names
        assert [store.get(name).decode() for name in names] == names
        assert list(store.list("plans/app.1f/000000000007")) == names[2:5]

    def test_list_of_empty_storage_is_empty(self, tmp_path: Path) -> None:
        assert list(self.open(tmp_path / "new").list("")) == []
        assert list(self.open(tmp_path / "new").list("a/b")) == []

    def test_delete_ignores_missing_objects(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        for name in ("a/1", "a/2", "a/3"):
            store.put_if_absent(name, b"x")
        store.delete(["a/1", "none", "a/3/none", "a/3"])
        store.delete([])
        store.delete(name for name in ["a/1"])
        assert list(store.list("")) == ["a/2"]

    def test_deleted_object_can_be_created_again(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        store.put_if_absent("a", b"first")
        store.delete(["a"])
        assert store.put_if_absent("a", b"second")
        assert store.get("a") == b"second"

    def test_concurrent_put_if_absent_of_one_name_succeeds_once(self, tmp_path: Path) -> None:
        for round_number in range(self.races):
            name = f"race/{round_number}/x"
            created = _together(partial(self._create, tmp_path, name))
            assert sum(created) == 1
            winner = b"%d" % created.index(True)
            assert self.open(tmp_path).get(name) == winner * 5000

    def _create(self, place: Path, name: str, number: int) -> bool:
        return self.open(place).put_if_absent(name, b"%d" % number * 5000)

    def test_concurrent_put_if_absent_of_different_names_all_succeed(self, tmp_path: Path) -> None:
        store = self.open(tmp_path)
        assert all(_together(lambda n: store.put_if_absent(f"deep/er/{n}/x", b"%d" % n)))
        assert [store.get(name) for name in store.list("deep")] == [
            b"%d" % n for n in range(_THREADS)
        ]

    def test_object_is_never_visible_partially_written(self, tmp_path: Path) -> None:
        store, data = self.open(tmp_path), b"x" * 3_000_000
        done = threading.Event()

        def watch(_: int) -> set[int]:
            sizes: set[int] = set()
            while not done.is_set():
                sizes.update(len(self.open(tmp_path).get(name)) for name in store.list("a"))
            return sizes

        with ThreadPoolExecutor(2) as pool:
            watchers = [pool.submit(watch, n) for n in range(2)]
            for number in range(10):
                store.put_if_absent(f"a/{number}", data)
            done.set()
            for watcher in watchers:
                assert watcher.result() <= {len(data)}


def _missing(store: ObjectStore, name: str) -> ObjectMissingError:
    try:
        store.get(name)
    except ObjectMissingError as error:
        return error
    raise AssertionError(f"get({name!r}) returned an object; expected ObjectMissingError")


def _together(action: Callable[[int], T]) -> list[T]:
    """Run an action in several threads that start at the same moment."""
    barrier = threading.Barrier(_THREADS)

    def run(number: int) -> T:
        barrier.wait()
        return action(number)

    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(run, range(_THREADS)))
