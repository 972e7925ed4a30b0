"""Any damage in the durable log raises an error that names the object."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.errors import StateCorruptError
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.versions import TaskVersions
from tests.support.storage.counting_object_store import ObjectDict

_UPKEEP = Upkeep(merge_count=3, floor_bytes=1700, small_bytes=0, chunk_bytes=200)


class _History:
    """A task with a snapshot of several chunks, a merged delta and plain deltas."""

    def __init__(self, home: Path) -> None:
        self.log = ObjectDict()
        self.home = home
        self.model: dict[bytes, bytes] = {}
        self.pointer = Pointer.empty()
        self.attempts = 0
        while not (len(self.pointer.snapshot) > 2 and {0, 1} <= self._levels()):
            self.commit()

    def _levels(self) -> set[int]:
        return {ref.level for ref in self.pointer.deltas}

    def versions(self, home: Path) -> TaskVersions:
        key = TaskKey("app", "group", 0)
        return TaskVersions(Memory(), home, self.log, key, ["s"], upkeep=_UPKEEP)

    def commit(self) -> None:
        self.attempts += 1
        number = self.attempts
        keys = [b"%04d" % n for n in range(number % 7, 200, 7)]
        changes = [(key, b"%d" % number) for key in keys]
        attempt = Attempt(f"a{number}", number)
        with self.versions(self.home).checkout(self.pointer, attempt) as checkout:
            self.pointer = checkout.commit({"s": StoreChanges(changes)}, {})
        self.model.update(changes)

    def restore(self, home: Path) -> dict[bytes, bytes]:
        with self.versions(home).checkout(self.pointer, Attempt("restoring", 0)) as checkout:
            assert not checkout.warm
            return dict(checkout.store.scan("s", None, None))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> _History:
    return _History(tmp_path_factory.mktemp("local"))


@pytest.fixture
def damaged(history: _History) -> _History:
    """Return a copy of the history with objects that a test may damage."""
    copy = object.__new__(_History)
    copy.__dict__.update(history.__dict__)
    copy.model = dict(history.model)
    copy.log = ObjectDict()
    copy.log.objects.update(history.log.objects)
    return copy


def test_undamaged_log_restores_state(history: _History, tmp_path: Path) -> None:
    assert history.restore(tmp_path) == history.model


@pytest.mark.long
def test_flipped_bit_in_any_object_of_log_is_detected(damaged: _History, tmp_path: Path) -> None:
    for ref in damaged.pointer.objects():
        good = damaged.log.objects[ref.name]
        step = max(1, len(good) // 60)
        for position in [*range(0, len(good), step), len(good) - 1]:
            bad = bytearray(good)
            bad[position] ^= 0x10
            damaged.log.objects[ref.name] = bytes(bad)
            with pytest.raises(StateCorruptError, match=ref.name.rpartition("/")[2]):
                damaged.restore(tmp_path)
        damaged.log.objects[ref.name] = good
    assert damaged.restore(tmp_path) == damaged.model


@pytest.mark.parametrize("length", [0, 1, 4, 8, 40, -33, -32, -1])
def test_truncated_object_of_log_is_detected(
    damaged: _History, tmp_path: Path, length: int
) -> None:
    for ref in damaged.pointer.objects():
        good = damaged.log.objects[ref.name]
        damaged.log.objects[ref.name] = good[:length]
        with pytest.raises(StateCorruptError, match="damaged"):
            damaged.restore(tmp_path)
        damaged.log.objects[ref.name] = good


def test_missing_object_of_log_is_detected(damaged: _History, tmp_path: Path) -> None:
    for ref in damaged.pointer.objects():
        good = damaged.log.objects.pop(ref.name)
        with pytest.raises(StateCorruptError, match="missing"):
            damaged.restore(tmp_path)
        damaged.log.objects[ref.name] = good


def test_log_object_of_another_attempt_is_detected(damaged: _History, tmp_path: Path) -> None:
    last, other = damaged.pointer.deltas[-1], damaged.pointer.deltas[-2]
    damaged.log.objects[last.name] = damaged.log.objects[other.name]
    with pytest.raises(StateCorruptError, match="not the one that was committed"):
        damaged.restore(tmp_path)


def test_failed_restore_leaves_no_files(damaged: _History, tmp_path: Path) -> None:
    last = damaged.pointer.deltas[-1].name
    good = damaged.log.objects.pop(last)
    with pytest.raises(StateCorruptError):
        damaged.restore(tmp_path)
    assert not [*tmp_path.rglob("attempts/*"), *tmp_path.rglob("locks/*")]
    damaged.log.objects[last] = good
    assert damaged.restore(tmp_path) == damaged.model


def test_damage_found_during_merge_is_repaired_by_snapshot(
    damaged: _History, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged.home = tmp_path / "warm"
    with damaged.versions(damaged.home).checkout(damaged.pointer, Attempt("warm", 0)):
        pass
    del damaged.log.objects[damaged.pointer.deltas[-1].name]
    while damaged.pointer.deltas:
        damaged.commit()
    assert "mending the log" in caplog.text
    assert damaged.restore(tmp_path / "cold") == damaged.model


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"f":1}',
        '{"f":2}',
        "x" * 1000,
        '{"f":1,"v":1,"l":"","b":""}',
    ],
)
def test_restore_from_malformed_pointer_is_rejected(text: str) -> None:
    with pytest.raises(StateCorruptError):
        Pointer.from_json(text)
