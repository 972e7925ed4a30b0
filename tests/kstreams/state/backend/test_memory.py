"""The in-memory backend: branches, versions of other processes, scans."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.errors import StoreError
from kstreams.state.backend import memory
from kstreams.state.backend.memory import Memory, MemoryStore
from kstreams.state.backend.working import StoreChanges


def test_store_without_backend_uses_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = MemoryStore(["s"])
    store.write({"s": StoreChanges([(b"k", b"v")])})
    store.close()
    other = Memory().open(Path("nowhere/at/all"), ["s"])
    other.write({"s": StoreChanges([(b"k", b"v")])})
    other.close()
    assert Memory().open(Path("nowhere/at/all"), ["s"]).get("s", b"k") == b"v"
    assert list(tmp_path.iterdir()) == []


def test_branch_of_closed_memory_store_gets_its_contents_only_once(tmp_path: Path) -> None:
    store = Memory().open(tmp_path / "a", ["s"])
    store.write({"s": StoreChanges([(b"k", b"v")])})
    store.close()
    assert Memory().branch(tmp_path / "a", tmp_path / "b")
    assert not Memory().branch(tmp_path / "a", tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    assert Memory().open(tmp_path / "b", ["s"]).get("s", b"k") == b"v"


def test_version_of_another_process_cannot_be_branched(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    assert not Memory().branch(tmp_path / "theirs", tmp_path / "mine")


def test_memory_of_version_removed_by_another_process_is_freed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_CHECK_S", 0.0)
    for name in ("a", "b"):
        Memory().open(tmp_path / name, ["s"]).close()
    (tmp_path / "a").rmdir()
    Memory().open(tmp_path / "c", ["s"])
    held = [Path(name).name for name in memory._CLOSED if Path(name).parent == tmp_path]
    assert held == ["b"]


def test_version_removed_by_another_process_is_not_reused_between_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Memory().open(tmp_path / "a", ["s"])
    store.write({"s": StoreChanges([(b"k", b"v")])})
    store.close()
    monkeypatch.setattr(memory, "_CHECK_S", 3600.0)
    (tmp_path / "a").rmdir()
    assert not Memory().branch(tmp_path / "a", tmp_path / "b")
    assert not Memory().copy(tmp_path / "a", tmp_path / "b")
    assert Memory().open(tmp_path / "a", ["s"]).get("s", b"k") is None


def test_directory_with_foreign_files_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "theirs").touch()
    with pytest.raises(StoreError, match="cannot remove"):
        Memory().remove(tmp_path / "d")


def test_scan_after_close_of_store_raises() -> None:
    store = MemoryStore(["s"])
    store.write({"s": StoreChanges([(b"%d" % n, b"") for n in range(9)])})
    scan = store.scan("s", None, None)
    next(scan)
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        next(scan)


def test_deleted_keys_do_not_accumulate_in_index() -> None:
    store = MemoryStore(["s"])
    list(store.scan("s", None, None))
    for number in range(200):
        store.write({"s": StoreChanges([(b"%06d" % (10 * number + n), b"v") for n in range(10)])})
        store.write({"s": StoreChanges([(b"%06d" % (10 * number + n), None) for n in range(10)])})
        list(store.scan("s", None, None))
    table = store._tables["s"]
    assert table.index is not None
    assert len(table.index) <= 10
