"""The test suite for state backends."""
# ruff: noqa: D102  # a test's name states its claim

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations, pairwise
from pathlib import Path
from random import Random

from kstreams.errors import StoreError
from kstreams.state.backend.working import StateBackend, StoreChanges, WorkingStore

__all__ = ("WorkingStoreContract",)

_EDGES = (
    b"",
    b"\x00",
    b"\x00\x00",
    b"\x00\xff",
    b"a",
    b"a\x00",
    b"a\xff",
    b"b",
    b"\xff",
    b"\xff\xff",
)
"""Keys in bytewise order that reveal any other order."""
_BOUNDS = (None, *_EDGES, b"\x01", b"aa", b"z", b"\xff\xff\xff")


class WorkingStoreContract:
    """Derive a test class that implements `backend`; pytest finds the tests.

    Example:
        class TestMine(WorkingStoreContract):
            def backend(self) -> StateBackend:
                return Mine()
    """

    def backend(self) -> StateBackend:
        """Return the backend to test; called by each test."""
        raise NotImplementedError("override backend() to return the tested backend")

    @contextmanager
    def _open(self, directory: Path, *stores: str) -> Iterator[WorkingStore]:
        store = self.backend().open(directory, stores or ("a", "b"))
        try:
            yield store
        finally:
            store.close()

    # ------------------------------------------------------------ reading and writing

    def test_store_in_new_directory_is_empty(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "new") as store:
            assert store.get("a", b"k") is None
            assert store.multi_get("a", [b"k", b"l"]) == [None, None]
            assert store.multi_get("a", []) == []
            assert list(store.scan("a", None, None)) == []
            assert list(store.scan("a", None, None, reverse=True)) == []
            assert store.count("a") == 0

    def test_get_returns_last_written_value(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges([(b"k", b"1"), (b"l", b"")])})
            store.write({"a": StoreChanges([(b"k", b"2")])})
            assert store.get("a", b"k") == b"2"
            assert store.get("a", b"l") == b"", "an empty value is a value"

    def test_multi_get_returns_values_in_order_of_given_keys(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges([(key, b"v" + key) for key in _EDGES])})
            keys = [b"none", *reversed(_EDGES), b"a", b"nil", b"a"]
            expected = [b"v" + key if key in _EDGES else None for key in keys]
            assert store.multi_get("a", keys) == expected

    def test_deleted_key_is_missing_until_written_again(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges([(b"k", b"1"), (b"l", b"2"), (b"m", b"3")])})
            store.write({"a": StoreChanges([(b"l", None), (b"never", None)])})
            assert store.get("a", b"l") is None
            assert store.multi_get("a", [b"k", b"l"]) == [b"1", None]
            assert list(store.scan("a", None, None)) == [(b"k", b"1"), (b"m", b"3")]
            store.write({"a": StoreChanges([(b"l", b"4")])})
            assert store.get("a", b"l") == b"4"

    def test_deleted_range_includes_its_start_and_excludes_its_end(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            for start, end in combinations(_EDGES, 2):
                pairs = [(key, b"v" + key) for key in _EDGES]
                store.write({"a": StoreChanges(pairs), "b": StoreChanges(pairs)})
                store.write({"a": StoreChanges(ranges=[(start, end)])})
                kept = [pair for pair in pairs if not start <= pair[0] < end]
                assert list(store.scan("a", None, None)) == kept
                assert list(store.scan("a", None, None, reverse=True)) == kept[::-1]
                found = store.multi_get("a", _EDGES)
                assert [value for value in found if value is not None] == [v for _, v in kept]
                assert (store.get("a", start), store.get("a", end)) == (None, b"v" + end)
                assert list(store.scan("b", None, None)) == pairs, "another store's keys stay"

    def test_write_deletes_ranges_before_it_puts_pairs(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges([(b"%d" % n, b"old") for n in range(9)])})
            changed = StoreChanges(
                [(b"2", b"new"), (b"3", None), (b"6", None)], [(b"1", b"4"), (b"7", b"9")]
            )
            store.write({"a": changed})
            expected = [(b"0", b"old"), (b"2", b"new"), (b"4", b"old"), (b"5", b"old")]
            assert list(store.scan("a", None, None)) == expected
            assert store.multi_get("a", [b"1", b"2", b"3", b"8"]) == [None, b"new", None, None]

    def test_deletion_of_range_without_keys_changes_nothing(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges(ranges=[(b"", b"z")])})
            store.write({"a": StoreChanges([(b"a", b"1"), (b"z", b"1")])})
            store.write({"a": StoreChanges(ranges=[(b"a\x00", b"z"), (b"zz", b"zzz")])})
            assert [key for key, _ in store.scan("a", None, None)] == [b"a", b"z"]

    def test_stores_of_one_directory_are_independent(self, tmp_path: Path) -> None:
        names = ("a", "b", "default", "name with spaces/and ü")
        with self._open(tmp_path / "d", *names) as store:
            store.write({name: StoreChanges([(b"k", name.encode())]) for name in names})
            store.write({"b": StoreChanges([(b"k", None)]), "default": StoreChanges([])})
            found = [store.get(name, b"k") for name in names]
            assert found == [b"a", None, b"default", names[3].encode()]

    def test_unknown_store_is_refused_and_no_store_is_written(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d", "a") as store:
            _refused(lambda: store.get("other", b"k"))
            _refused(lambda: store.multi_get("other", [b"k"]))
            _refused(lambda: list(store.scan("other", None, None)))
            _refused(
                lambda: store.write(
                    {"a": StoreChanges([(b"k", b"1")]), "other": StoreChanges([(b"k", b"1")])}
                )
            )
            assert store.get("a", b"k") is None

    def test_large_keys_and_values_are_read_unchanged(self, tmp_path: Path) -> None:
        large = Random(1).randbytes(5_000_000)
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges([(large[:10_000], large)])})
            assert store.get("a", large[:10_000]) == large
            assert list(store.scan("a", None, None)) == [(large[:10_000], large)]

    def test_count_is_within_factor_of_two(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges([(b"%04d" % n, b"v") for n in range(1000)])})
            assert 500 <= store.count("a") <= 2000
            assert store.count("b") == 0

    # ------------------------------------------------------------ scanning

    def test_scan_returns_keys_in_byte_order_and_excludes_end(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write(
                {
                    "a": StoreChanges([(key, key + b"!") for key in _EDGES]),
                    "b": StoreChanges([(b"q", b"q")]),
                }
            )
            for start in _BOUNDS:
                for end in _BOUNDS:
                    expected = [(key, key + b"!") for key in _EDGES if _within(key, start, end)]
                    assert list(store.scan("a", start, end)) == expected, (start, end)
                    backward = list(store.scan("a", start, end, reverse=True))
                    assert backward == expected[::-1], (start, end)

    def test_store_can_be_closed_during_unfinished_scan(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges([(b"%04d" % n, b"v") for n in range(3000)])})
            scan = store.scan("a", None, None)
            assert [next(scan)[0] for _ in range(3)] == [b"0000", b"0001", b"0002"]
        with self._open(tmp_path / "d") as store:
            assert store.get("a", b"2999") == b"v"

    def test_scan_is_not_affected_by_later_writes(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            even = [b"%05d" % n for n in range(0, 6000, 2)]
            store.write({"a": StoreChanges([(key, b"old") for key in even])})
            for reverse in (False, True):
                scan = store.scan("a", None, None, reverse=reverse)
                seen = [next(scan)[0]]
                odd = [b"%05d" % n for n in range(1, 6000, 2)]
                store.write({"a": StoreChanges([(key, b"new") for key in odd])})
                seen += [key for key, _ in scan]
                ordered = seen[::-1] if reverse else seen
                assert all(left < right for left, right in pairwise(ordered))
                assert set(even) <= set(ordered) <= {*even, *odd}
                store.write({"a": StoreChanges([(key, None) for key in odd])})

    def test_working_store_equals_a_dictionary(self, tmp_path: Path) -> None:
        random, model = Random(7), dict[bytes, bytes]()
        with self._open(tmp_path / "d") as store:
            for _ in range(60):
                changes = _random_changes(random)
                store.write({"a": changes})
                _apply(model, changes)
                start, end = random.choice(_BOUNDS), random.choice(_BOUNDS)
                expected = sorted(item for item in model.items() if _within(item[0], start, end))
                assert list(store.scan("a", start, end)) == expected
                keys = [key for key, _ in changes.pairs]
                assert store.multi_get("a", keys) == [model.get(key) for key in keys]
            assert list(store.scan("a", None, None, reverse=True)) == sorted(model.items())[::-1]

    # ------------------------------------------------------------ closing and branching

    def test_reopened_store_has_its_contents(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d") as store:
            store.write(
                {"a": StoreChanges([(b"k", b"1")]), "b": StoreChanges([(b"k", b"2"), (b"l", b"3")])}
            )
        with self._open(tmp_path / "d") as store:
            assert store.get("a", b"k") == b"1"
            assert list(store.scan("b", None, None)) == [(b"k", b"2"), (b"l", b"3")]

    def test_store_can_be_closed_twice_and_then_refuses_calls(self, tmp_path: Path) -> None:
        store = self.backend().open(tmp_path / "d", ["a"])
        store.write({"a": StoreChanges([(b"k", b"1")])})
        store.close()
        store.close()
        _refused(lambda: store.get("a", b"k"))
        _refused(lambda: store.write({"a": StoreChanges([(b"k", b"2")])}))
        with self._open(tmp_path / "d", "a") as again:
            assert again.get("a", b"k") == b"1"

    def test_stores_left_out_at_open_keep_their_contents(self, tmp_path: Path) -> None:
        with self._open(tmp_path / "d", "a", "b") as store:
            store.write({"a": StoreChanges([(b"k", b"1")]), "b": StoreChanges([(b"k", b"2")])})
        with self._open(tmp_path / "d", "b", "c") as store:
            assert (store.get("b", b"k"), store.get("c", b"k")) == (b"2", None)
            store.write({"c": StoreChanges([(b"k", b"3")])})
        with self._open(tmp_path / "d", "a", "b", "c") as store:
            assert [store.get(name, b"k") for name in "abc"] == [b"1", b"2", b"3"]

    def test_branches_of_one_directory_are_independent(self, tmp_path: Path) -> None:
        source, first, second = (tmp_path / name for name in ("source", "first", "second"))
        with self._open(source) as store:
            store.write({"a": StoreChanges([(b"%04d" % n, b"old") for n in range(1000)])})
        branched = [path for path in (first, second) if self.backend().branch(source, path)]
        assert first in branched
        for path in branched:
            with self._open(path) as store:
                store.write({"a": StoreChanges([(b"0000", str(path).encode()), (b"0001", None)])})
        for path in branched:
            with self._open(path) as store:
                assert store.multi_get("a", [b"0000", b"0001"]) == [str(path).encode(), None]
                assert store.get("a", b"0999") == b"old"
        if len(branched) == 2:  # else the source was used up, as it may be
            with self._open(source) as store:
                assert store.multi_get("a", [b"0000", b"0001"]) == [b"old", b"old"]

    def test_branch_of_missing_or_empty_directory_returns_false(self, tmp_path: Path) -> None:
        assert not self.backend().branch(tmp_path / "none", tmp_path / "target")
        assert not self.backend().branch(tmp_path / "target", tmp_path / "further")
        (tmp_path / "empty").mkdir()
        assert not self.backend().branch(tmp_path / "empty", tmp_path / "target")

    def test_chain_of_branches_equals_a_dictionary(self, tmp_path: Path) -> None:
        random, model, backend = Random(11), dict[bytes, bytes](), self.backend()
        for version in range(40):
            if version:
                assert backend.branch(tmp_path / str(version - 1), tmp_path / str(version))
                backend.remove(tmp_path / str(version - 1))
            changes = _random_changes(random)
            with self._open(tmp_path / str(version)) as store:
                store.write({"a": changes})
            _apply(model, changes)
        with self._open(tmp_path / "39") as store:
            assert list(store.scan("a", None, None)) == sorted(model.items())

    def test_removed_directory_is_empty_when_opened_again(self, tmp_path: Path) -> None:
        backend = self.backend()
        with self._open(tmp_path / "d") as store:
            store.write({"a": StoreChanges([(b"k", b"1")])})
        backend.remove(tmp_path / "d")
        backend.remove(tmp_path / "d")
        backend.remove(tmp_path / "never")
        assert not (tmp_path / "d").exists()
        with self._open(tmp_path / "d") as store:
            assert store.get("a", b"k") is None

    def test_backend_settings_can_be_pickled(self) -> None:
        backend = self.backend()
        assert backend.name
        assert pickle.loads(pickle.dumps(backend)) == backend  # noqa: S301  # pickled here


def _refused(action: Callable[[], object]) -> None:
    try:
        action()
    except StoreError:
        return
    raise AssertionError("expected StoreError, but the store accepted the access")


def _within(key: bytes, start: bytes | None, end: bytes | None) -> bool:
    return (start is None or start <= key) and (end is None or key < end)


def _random_changes(random: Random) -> StoreChanges:
    keys = {
        random.randbytes(random.choice((0, 1, 1, 2, 3))) for _ in range(random.randrange(1, 60))
    }
    pairs = [(key, None if random.random() < 0.3 else random.randbytes(8)) for key in sorted(keys)]
    bounds = sorted({random.randbytes(random.choice((1, 2))) for _ in range(random.choice((0, 4)))})
    return StoreChanges(pairs, list(zip(bounds[::2], bounds[1::2], strict=False))[:1])


def _apply(model: dict[bytes, bytes], changes: StoreChanges) -> None:
    for start, end in changes.ranges:
        for key in [key for key in model if start <= key < end]:
            del model[key]
    for key, value in changes.pairs:
        if value is None:
            model.pop(key, None)
        else:
            model[key] = value
