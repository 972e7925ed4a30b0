"""Rows cached between batches belong to the exact version, within a size limit."""

from __future__ import annotations

from collections.abc import Sequence

from kstreams import INT64, TEXT
from kstreams.serde import INT32
from kstreams.serde.base import Serde
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import StoreChanges
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.row_cache import RowCache

TASKS = [TaskKey("app", "group", number) for number in range(3)]


class Counting(MemoryStore):
    """A store that counts requested keys."""

    reads = 0

    def get(self, store: str, key: bytes) -> bytes | None:
        self.reads += 1
        return super().get(store, key)

    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        self.reads += len(keys)
        return super().multi_get(store, keys)


def batch(
    base: Counting,
    cache: RowCache,
    version_ids: tuple[str, str],
    puts: dict[str, int],
    *,
    task: TaskKey = TASKS[0],
    value: Serde[int] = INT64,
) -> int:
    """Add to keys in a batch between two versions; return the number of keys read."""
    before = base.reads
    overlay = Overlay(base, cache.take(task, version_ids[0]))
    store = overlay.store("s", TEXT, value)
    for key, more in puts.items():
        store.put(key, (store.get(key) or 0) + more)
    base.write(overlay.changes())
    cache.keep(task, version_ids[1], overlay)
    return base.reads - before


def test_row_cache_serves_next_batch_of_same_version_without_reads() -> None:
    base, cache = Counting(["s"]), RowCache(1 << 20)

    assert batch(base, cache, ("0", "1"), {"a": 1, "b": 1}) == 2
    assert batch(base, cache, ("1", "2"), {"a": 1, "c": 1}) == 1
    assert batch(base, cache, ("2", "3"), {"a": 1, "b": 1, "c": 1}) == 0
    assert dict(Overlay(base).store("s", TEXT, INT64).scan(None, None)) == {"a": 3, "b": 2, "c": 2}


def test_row_cache_is_empty_for_another_version_of_task() -> None:
    base, cache = Counting(["s"]), RowCache(1 << 20)
    batch(base, cache, ("0", "1"), {"a": 1})

    assert batch(base, cache, ("1 of another attempt", "2"), {"a": 1}) == 1


def test_row_cache_has_no_rows_of_failed_batch_at_its_retry() -> None:
    base, cache = Counting(["s"]), RowCache(1 << 20)
    batch(base, cache, ("0", "1"), {"a": 1})
    cache.take(TASKS[0], "1")  # by an attempt that did not commit

    assert batch(base, cache, ("1", "2"), {"a": 1}) == 1


def test_cached_rows_are_read_again_after_change_of_serde() -> None:
    base, cache = Counting(["s"]), RowCache(1 << 20)
    batch(base, cache, ("0", "1"), {"a": 1})
    base.write({"s": StoreChanges([(b"a", INT32.serialize(7))])})

    assert batch(base, cache, ("1", "2"), {"a": 1}, value=INT32) == 1


def test_row_cache_evicts_least_recently_used_task() -> None:
    base, cache = Counting(["s"]), RowCache(1_000)
    for task in TASKS:
        batch(base, cache, ("0", "1"), {"a": 1, "b": 1}, task=task)

    assert cache.size_bytes <= 1_000
    assert batch(base, cache, ("1", "2"), {"a": 1, "b": 1}, task=TASKS[2]) == 0
    assert batch(base, cache, ("1", "2"), {"a": 1, "b": 1}, task=TASKS[0]) == 2


def test_row_cache_of_large_task_keeps_latest_rows() -> None:
    base, cache = Counting(["s"]), RowCache(5_000)
    for start in range(0, 100, 10):
        before, after = str(start), str(start + 10)
        batch(base, cache, (before, after), {f"k{n}": 1 for n in range(start, start + 10)})
        assert cache.size_bytes <= 5_000

    assert batch(base, cache, ("100", "101"), {f"k{n}": 1 for n in range(90, 100)}) == 0


def test_task_larger_than_row_cache_is_not_cached() -> None:
    base, cache = Counting(["s"]), RowCache(5_000)

    batch(base, cache, ("0", "1"), {f"k{n}": 1 for n in range(1_000)})

    assert cache.size_bytes == 0
