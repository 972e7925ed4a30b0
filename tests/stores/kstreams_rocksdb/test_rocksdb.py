"""The RocksDB backend: damage, branches, scans."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from kstreams.errors import StoreError, StoreOpenError
from kstreams.state.backend.working import StoreChanges
from kstreams_rocksdb import RocksDB
from kstreams_rocksdb.compaction import run_count
from kstreams_rocksdb.options import block_cache


def _write(
    directory: Path, *pairs: tuple[bytes, bytes | None], backend: RocksDB | None = None
) -> None:
    store = (backend or RocksDB()).open(directory, ["s"])
    store.write({"s": StoreChanges(pairs)})
    store.close()


def test_second_open_is_refused_with_the_directory_and_a_hint(tmp_path: Path) -> None:
    store = RocksDB().open(tmp_path / "d", ["s"])
    with pytest.raises(StoreOpenError, match=str(tmp_path / "d")) as caught:
        RocksDB().open(tmp_path / "d", ["s"])
    assert "is open in this process or another" in caught.value.hint
    store.close()


def test_file_in_place_of_database_directory_raises_typed_error(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("in the way")
    with pytest.raises(StoreOpenError, match="cannot open"):
        RocksDB().open(tmp_path / "d", ["s"])


@pytest.mark.parametrize("victim", ["*.sst", "CURRENT"])
def test_open_of_damaged_rocksdb_database_raises(tmp_path: Path, victim: str) -> None:
    _write(tmp_path / "d", (b"k", b"v"))
    _halve(tmp_path / "d", victim)
    with pytest.raises(StoreOpenError, match="Local state is a copy") as caught:
        RocksDB().open(tmp_path / "d", ["s"])
    assert str(tmp_path / "d") in str(caught.value)


@pytest.mark.parametrize("victim", ["*.sst", "MANIFEST-*", "CURRENT", "CLOSED"])
def test_branch_of_damaged_rocksdb_database_is_refused(tmp_path: Path, victim: str) -> None:
    """RocksDB opens a database with a truncated manifest as an older or an empty one."""
    _write(tmp_path / "d", (b"k", b"v"))
    _halve(tmp_path / "d", victim)
    assert not RocksDB().branch(tmp_path / "d", tmp_path / "target")


@pytest.mark.parametrize("victim", ["*.sst", "MANIFEST-*", "CURRENT", "CLOSED"])
def test_damaged_rocksdb_database_is_not_shared_with_other_processes(
    tmp_path: Path, victim: str
) -> None:
    _write(tmp_path / "d", (b"k", b"v"))
    _halve(tmp_path / "d", victim)
    with pytest.raises(StoreOpenError, match="not closed properly"):
        RocksDB().open_shared(tmp_path / "d", ["s"])


def test_processes_read_a_closed_database_even_after_it_is_removed(tmp_path: Path) -> None:
    _write(tmp_path / "d", *((b"%05d" % number, b"v" * 100) for number in range(20_000)))
    stores = [RocksDB().open_shared(tmp_path / "d", ["s"]) for _ in range(2)]
    code = (
        "import sys; from pathlib import Path; from kstreams_rocksdb import RocksDB; "
        "print(RocksDB().open_shared(Path(sys.argv[1]), ['s']).get('s', b'00007') is not None)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "d")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"
    assert RocksDB().branch(tmp_path / "d", tmp_path / "next")
    RocksDB().remove(tmp_path / "d")
    for store in stores:
        assert len(list(store.scan("s", None, None))) == 20_000
        with pytest.raises(StoreError, match="is open for reading only"):
            store.write({"s": StoreChanges([(b"k", b"v")])})
        store.close()
        store.close()
        with pytest.raises(StoreError, match="is closed"):
            store.get("s", b"00007")
    assert not (tmp_path / "d").exists()


def _halve(directory: Path, pattern: str) -> None:
    for path in directory.glob(pattern):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_branch_of_open_rocksdb_database_is_refused(tmp_path: Path) -> None:
    _write(tmp_path / "d", (b"k", b"v"))
    store = RocksDB().open(tmp_path / "d", ["s"])
    assert not RocksDB().branch(tmp_path / "d", tmp_path / "target")
    assert not (tmp_path / "target").exists()
    store.close()
    assert RocksDB().branch(tmp_path / "d", tmp_path / "target")


def test_rocksdb_branch_shares_data_files(tmp_path: Path) -> None:
    _write(tmp_path / "d", (b"k", b"v"))
    assert RocksDB().branch(tmp_path / "d", tmp_path / "e")
    (one,), (other,) = ((tmp_path / name).glob("*.sst") for name in "de")
    assert one.samefile(other)
    assert RocksDB().branch(tmp_path / "e", tmp_path / "f"), "without opening it"


def test_scan_shows_the_state_at_its_creation(tmp_path: Path) -> None:
    store = RocksDB().open(tmp_path / "d", ["s"])
    store.write({"s": StoreChanges([(b"a", b"1"), (b"b", b"1"), (b"c", b"1")])})
    for reverse in (False, True):
        scan = store.scan("s", None, None, reverse=reverse)
        store.write({"s": StoreChanges([(b"a", b"2"), (b"b", None), (b"bb", b"2"), (b"c", b"2")])})
        assert sorted(scan) == [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")]
        store.write({"s": StoreChanges([(b"a", b"1"), (b"b", b"1"), (b"bb", None), (b"c", b"1")])})
    store.close()


def test_scan_of_closed_store_raises_and_releases_directory(tmp_path: Path) -> None:
    store = RocksDB().open(tmp_path / "d", ["s"])
    store.write({"s": StoreChanges([(b"%d" % n, b"") for n in range(9)])})
    scan = store.scan("s", None, None)
    next(scan)
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        next(scan)
    RocksDB().open(tmp_path / "d", ["s"]).close()


@pytest.mark.long
def test_garbage_collected_store_releases_its_directory(tmp_path: Path) -> None:
    store = RocksDB().open(tmp_path / "d", ["s"])
    next(store.scan("s", None, None), None)
    del store
    gc.collect()
    RocksDB().open(tmp_path / "d", ["s"]).close()


def test_rocksdb_databases_share_one_cache() -> None:
    assert block_cache(1_000_000) is block_cache(1_000_000)


@pytest.mark.parametrize(
    "options",
    [{"cache_bytes": -1}, {"write_buffer_bytes": 1}, {"bloom_bits": -1}, {"max_runs": 1}],
    ids=str,
)
def test_settings_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        RocksDB(**options)  # type: ignore[arg-type]


def test_missing_rocksdict_error_names_the_extra() -> None:
    code = "import sys; sys.modules['rocksdict'] = None; import kstreams_rocksdb"
    paths = f"import sys; sys.path[:0] = {sys.path!r}; "
    result = subprocess.run([sys.executable, "-c", paths + code], capture_output=True, check=False)
    assert b"pip install 'kstreams-spark[rocksdb]'" in result.stderr


def test_number_of_rocksdb_sorted_runs_is_limited_over_many_batches(tmp_path: Path) -> None:
    backend, random = RocksDB(max_runs=4), Random(1)
    most = 0
    for number in range(60):
        if number:
            assert backend.branch(tmp_path / str(number - 1), tmp_path / str(number))
            backend.remove(tmp_path / str(number - 1))
        store = backend.open(tmp_path / str(number), ["s"])
        most = max(most, run_count(store._families["s"]))
        keys = sorted(random.sample(range(2000), 100))
        store.write({"s": StoreChanges([(b"%06d" % key, random.randbytes(50)) for key in keys])})
        store.close()
    assert 2 <= most <= 4


def test_scan_keeps_references_to_its_bounds(tmp_path: Path) -> None:
    store = RocksDB().open(tmp_path / "db", ["s"])
    keys = [number.to_bytes(4, "big") for number in range(2_000)]
    store.write({"s": StoreChanges([(key, b"x" * 50) for key in keys])})
    for low in range(0, 1_900, 100):
        scan = store.scan("s", low.to_bytes(4, "big"), (low + 50).to_bytes(4, "big"))
        garbage = [bytes([255]) * 4 for _ in range(200)]  # overwrites freed bounds
        assert [key for key, _ in scan] == keys[low : low + 50], len(garbage)
    store.close()
