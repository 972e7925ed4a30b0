"""Local copies of a table equal the committed version, from whichever version they were made."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kstreams import INT64, TEXT
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.durations import days
from kstreams.errors import StateCorruptError, StoreError, VersionGoneError
from kstreams.global_tables.open_tables import OpenTables
from kstreams.global_tables.sources import AppTableSource
from kstreams.global_tables.table_version import TableVersion
from kstreams.partitioner import partition_of
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.table_access import TableAccess
from kstreams.stores import timestamped_store, versioned_key_value_store
from kstreams_rocksdb import RocksDB
from tests.support.apps.committing_app import PARTITIONS, Committing

COUNTS = timestamped_store("counts", key=TEXT, value=INT64)
RATES = versioned_key_value_store("rates", key=TEXT, value=INT64, retention=days(1))
KEYS = [f"key-{number}" for number in range(30)]

Model = dict[str, tuple[int, int]]


class Written:
    """An app's table, with the expected content of each version."""

    def __init__(self, path: Path, seed: int = 0) -> None:
        self.app = Committing(path / "app", COUNTS)
        self.source = AppTableSource(home_of(path / "app"), None, COUNTS, None)
        self.random = random.Random(seed)
        self.model: Model = {}
        self.versions: list[tuple[TableVersion, Model]] = []

    def commit(self) -> TableVersion:
        """Commit a batch of puts and deletions, or sometimes an empty one."""
        chosen = self.random.sample(KEYS, self.random.choice([0, 1, 5]))
        time = self.random.randrange(1000)
        news = {key: self.random.choice([None, self.random.randrange(100)]) for key in chosen}

        def change(store: Any, partition: int) -> None:
            for key, value in news.items():
                if partition_of(key.encode(), PARTITIONS) == partition:
                    if value is None:
                        store.delete(key)
                    else:
                        store.put(key, value, time)

        self.app.commit(change)
        for key, value in news.items():
            self.model.pop(key, None)
            if value is not None:
                self.model[key] = (value, time)
        version = self.source.at(self.source.newest())
        self.versions.append((version, dict(self.model)))
        return version


class Reading:
    """A worker that opens tables."""

    def __init__(self, home: Path, backend: StateBackend) -> None:
        self.home = home
        self.backend = backend
        self.tables = OpenTables(lambda settings: settings.open())

    def open(self, version: TableVersion, spec: Any = COUNTS, reader: str = "r") -> TableAccess:
        return self.tables.open(
            spec, version, backend=self.backend, home=lambda: self.home, reader=reader
        )


@pytest.fixture(params=[RocksDB(), Memory()], ids=["shared", "in memory"])
def backend(request: pytest.FixtureRequest) -> StateBackend:
    found: StateBackend = request.param
    return found


def read(access: TableAccess) -> Model:
    """Return all rows of a table, after comparing its ways of reading."""
    rows = dict(access.scan(None, None))
    assert list(rows) == sorted(rows)
    assert {key: row for key in KEYS if (row := access.get(key)) is not None} == rows
    assert access.get_many(KEYS) == [rows.get(key) for key in KEYS]
    return rows


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_copy_equals_committed_version_whichever_earlier_version_it_was_updated_from(
    tmp_path: Path, backend: StateBackend, seed: int
) -> None:
    written = Written(tmp_path, seed)
    worker = Reading(tmp_path / "copies", backend)
    chance = random.Random(seed)
    for _ in range(40):
        version = written.commit()
        if chance.random() < 0.5:
            assert read(worker.open(version)) == written.model
        if chance.random() < 0.2:  # another query retries its batch
            version, model = chance.choice(written.versions[-3:])
            assert read(worker.open(version, reader="other")) == model
        if chance.random() < 0.1:
            worker = Reading(tmp_path / "copies", backend)


def test_two_latest_copies_of_table_are_kept_on_machine(tmp_path: Path) -> None:
    written, worker = Written(tmp_path), Reading(tmp_path / "copies", RocksDB())
    for _ in range(8):
        worker.open(written.commit())
    (table,) = (tmp_path / "copies").iterdir()
    names = {path.name for path in table.iterdir() if path.is_dir()}
    assert len(names) == 2
    assert {path.name for path in table.iterdir()} == {
        "lock",
        *names,
        *(f"{name}.json" for name in names),
    }


def test_version_without_changes_uses_existing_copy(tmp_path: Path) -> None:
    written, worker = Written(tmp_path), Reading(tmp_path / "copies", RocksDB())
    first = written.commit()
    written.app.commit(lambda store, partition: None)
    second = written.source.at(written.source.newest())
    worker.open(first)
    worker.open(second)
    (table,) = (tmp_path / "copies").iterdir()
    assert len([path for path in table.iterdir() if path.is_dir()]) == 1


def test_concurrent_workers_make_one_copy_of_table_version(tmp_path: Path) -> None:
    written = Written(tmp_path)
    workers = [Reading(tmp_path / "copies", RocksDB()) for _ in range(6)]
    for _ in range(6):
        version = written.commit()
        model = dict(written.model)
        with ThreadPoolExecutor(len(workers)) as pool:
            found = list(pool.map(lambda worker, v=version: read(worker.open(v)), workers))
        assert found == [model] * len(workers)


@pytest.mark.parametrize("harm", ["cut", "draft", "no marks"])
def test_files_left_by_killed_worker_are_never_read(tmp_path: Path, harm: str) -> None:
    written, worker = Written(tmp_path), Reading(tmp_path / "copies", RocksDB())
    version = written.commit()
    worker.open(version)
    (table,) = (tmp_path / "copies").iterdir()
    if harm == "cut":
        (table / version.name / "CURRENT").write_text("")
    elif harm == "draft":
        (table / ".draft").mkdir()
    else:
        (table / f"{version.name}.json").unlink()
    fresh = Reading(tmp_path / "copies", RocksDB())
    assert read(fresh.open(version)) == written.model
    for _ in range(2):
        version = written.commit()
        assert read(fresh.open(version)) == written.model
    assert not (table / ".draft").exists()


def test_version_removed_by_garbage_collection_raises_version_gone_error(
    tmp_path: Path, backend: StateBackend
) -> None:
    written = Written(tmp_path, seed=5)
    old = next(v for v in iter(written.commit, None) if any(p.deltas for p in v.pointers))
    pin = written.source.newest()
    for _ in range(20):
        written.commit()
    written.app.sweep(2)
    with pytest.raises(VersionGoneError, match="not retained") as caught:
        Reading(tmp_path / "copies", backend).open(old)
    assert "--repin" in caught.value.hint
    source = AppTableSource(home_of(tmp_path / "app"), None, COUNTS, None)
    with pytest.raises(VersionGoneError, match="the commit of this version is no longer retained"):
        source.at(pin)


def test_damaged_object_is_not_reported_as_removed_version(
    tmp_path: Path, backend: StateBackend
) -> None:
    written = Written(tmp_path, seed=5)
    version = next(v for v in iter(written.commit, None) if any(p.deltas for p in v.pointers))
    ref = next(ref for pointer in version.pointers for ref in pointer.objects())
    (found,) = [p for p in (tmp_path / "app").rglob("*") if str(p).endswith(ref.name)]
    found.write_bytes(found.read_bytes()[:-3])
    with pytest.raises(StateCorruptError) as caught:
        Reading(tmp_path / "copies", backend).open(version)
    assert not isinstance(caught.value, VersionGoneError)


def test_global_table_cannot_be_written(tmp_path: Path, backend: StateBackend) -> None:
    written = Written(tmp_path)
    access = Reading(tmp_path / "copies", backend).open(written.commit())
    with pytest.raises(StoreError, match="is read-only"):
        access.put("key", 1, 0)


def test_global_table_finds_key_stored_in_unexpected_partition(
    tmp_path: Path, backend: StateBackend
) -> None:
    app = Committing(tmp_path / "app", COUNTS)
    homes = {key: partition_of(key.encode(), PARTITIONS) for key in KEYS}

    def change(store: Any, partition: int) -> None:
        for key, home in homes.items():
            if partition == (home + 1) % PARTITIONS:
                store.put(key, home, 0)
        if partition == homes["key-0"]:
            store.put("key-0", 77, 0)

    app.commit(change)
    source = AppTableSource(home_of(tmp_path / "app"), None, COUNTS, None)
    access = Reading(tmp_path / "copies", backend).open(source.at(source.newest()))
    rows = read(access)
    assert rows == {key: (home, 0) for key, home in homes.items()} | {"key-0": (77, 0)}


def test_versioned_table_is_read_as_of_time(tmp_path: Path, backend: StateBackend) -> None:
    app = Committing(tmp_path / "app", RATES)

    def change(store: Any, partition: int) -> None:
        for key in KEYS:
            if partition_of(key.encode(), PARTITIONS) == partition:
                store.put(key, 1, 100)
                store.put(key, 2, 200)

    app.commit(change)
    source = AppTableSource(home_of(tmp_path / "app"), None, RATES, None)
    access = Reading(tmp_path / "copies", backend).open(source.at(source.newest()), RATES)
    as_of = access.get_as_of
    assert as_of is not None
    assert [as_of("key-1", time) for time in (99, 100, 199, 200)] == [
        None,
        (1, 100),
        (1, 100),
        (2, 200),
    ]
    assert as_of("absent", 100) is None


def test_table_before_first_commit_is_empty(tmp_path: Path, backend: StateBackend) -> None:
    Committing(tmp_path / "app", COUNTS)
    source = AppTableSource(home_of(tmp_path / "app"), None, COUNTS, None)
    pin = source.newest()
    assert pin.commit is None
    assert read(Reading(tmp_path / "copies", backend).open(source.at(pin))) == {}
