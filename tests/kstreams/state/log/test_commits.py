"""The commit log of the driver: committed documents are read unchanged, others are rejected."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kstreams.errors import FencedError, LogMismatchError, StateCorruptError
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.log.beginning import Beginning
from kstreams.state.log.commits import SEED, Commit, CommitLog, CommitName, Output
from kstreams.state.log.document import seal
from kstreams.state.log.loop_objects import LoopPart
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.staged import Staged
from tests.support.storage.counting_object_store import ObjectDict

PREFIX = "commits/app.epoch.query"
COMMIT = Commit(
    7,
    "run",
    5,
    {TaskId("group", 0): Pointer.empty({"next": {"t/0": 3}}).to_json()},
    (Output("out", 1, "staged", "producer"),),
    {TopicPartition("t", 0): 3},
    "1:ab",
    CommitName(SEED, "ab" * 32),
    "cd" * 32,
    staged=Staged(
        "app.epoch.query/epoch", "t", (LoopPart("out", 0, 0, "a/loops/e/1", 0, 40, 2, "0" * 16),)
    ),
)
BEGIN = Beginning("app", "epoch", "query")


@pytest.fixture
def objects() -> ObjectDict:
    return ObjectDict()


def name_of(batch: int) -> str:
    return f"{PREFIX}/{batch:020d}.json"


def test_appended_commit_is_read_unchanged(objects: ObjectDict) -> None:
    log = CommitLog(objects, PREFIX)
    appended = log.append(COMMIT)
    found = log.last()
    assert found == COMMIT
    assert found is not None
    assert found.id == appended.id
    assert len(found.digest) == 64


def test_repeated_append_of_same_commit_is_accepted_and_another_is_fenced(
    objects: ObjectDict,
) -> None:
    log = CommitLog(objects, PREFIX)
    assert log.append(COMMIT).digest == log.append(COMMIT).digest
    with pytest.raises(FencedError, match=r"committed by another driver \(run run\)"):
        log.append(replace(COMMIT, run="other"))


def test_commit_log_orders_seed_commit_before_all_batches(objects: ObjectDict) -> None:
    log = CommitLog(objects, PREFIX)
    log.begin(BEGIN)
    for batch in (0, SEED, 1):
        log.append(replace(COMMIT, batch=batch))
    assert log.batches() == [SEED, 0, 1]
    log.forget_before(1)
    assert log.batches() == [1]
    assert log.beginning()[0] == BEGIN


def test_old_commit_kept_for_savepoint_is_not_listed_as_retained_batch(objects: ObjectDict) -> None:
    log = CommitLog(objects, PREFIX)
    for batch in range(5):
        log.append(replace(COMMIT, batch=batch))
    log.forget_before(3, but=[1])
    assert log.batches() == [3, 4]
    assert [commit.batch for commit in log.recent(9)] == [3, 4]
    assert [commit.batch for commit in log.all()] == [1, 3, 4]
    with pytest.raises(FencedError):
        log.append(replace(COMMIT, batch=1, run="other"))


def test_commit_log_expected_to_exist_raises_if_its_beginning_is_missing(
    objects: ObjectDict,
) -> None:
    digest = CommitLog(objects, PREFIX).begin(BEGIN)
    log = CommitLog(objects, PREFIX, begun=True)
    assert log.last() is None
    assert CommitLog(objects, PREFIX).begin(BEGIN) == digest
    with pytest.raises(LogMismatchError, match=r"belongs to app '\w+' \(checkpoint id"):
        log.begin(replace(BEGIN, checkpoint_id="other"))
    objects.delete([f"{PREFIX}/begin.json"])
    for look in (log.last, log.batches, log.beginning, lambda: list(log.all())):
        with pytest.raises(LogMismatchError, match="it is empty, but not"):
            look()
    objects.put_if_absent("other/object", b"")
    with pytest.raises(LogMismatchError, match="it holds other objects, but not"):
        log.recent(1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch", -2), ("batch", 2**63), ("batch", "7"), ("batch", True), ("run", None),
        ("wall_ms", 1.5), ("wall_ms", -1), ("tasks", []), ("tasks", {"g/0": 1}),
        ("tasks", {"g": "{}"}),
        ("outputs", {}), ("outputs", [7]), ("outputs", [{}]),
        ("outputs", [{"topic": "t", "partition": -1, "staged": "", "producer": ""}]),
        ("positions", {"t/0": -1}), ("positions", {"t/0": "1"}), ("positions", [1]),
        ("positions", {"t": 1}), ("positions", {"t/-1": 1}), ("positions", {"t/01": 1}),
        ("fingerprint", 7), ("after", [1]), ("after", {"batch": 1}), ("after", [1, "short"]),
        ("after", ["1", "ab" * 32]), ("plan", 7),
    ],
)  # fmt: skip
def test_error_of_commit_names_field_of_wrong_type(
    objects: ObjectDict, field: str, value: object
) -> None:
    content = {**COMMIT.to_json(), field: value}
    objects.put_if_absent(name_of(7), seal(content, name_of(7)).data)
    with pytest.raises(StateCorruptError, match=r"00007\.json' cannot be read") as caught:
        CommitLog(objects, PREFIX).last()
    assert caught.value.hint


@pytest.mark.parametrize("field", ["batch", "run", "wall_ms", "tasks", "outputs"])
def test_error_of_commit_names_missing_field(objects: ObjectDict, field: str) -> None:
    content = COMMIT.to_json()
    del content[field]
    objects.put_if_absent(name_of(7), seal(content, name_of(7)).data)
    with pytest.raises(StateCorruptError, match=f"field '{field}' is missing"):
        CommitLog(objects, PREFIX).last()


def test_commit_of_older_format_copied_to_later_number_is_rejected(objects: ObjectDict) -> None:
    content = COMMIT.to_json()
    del content["after"], content["plan"]
    objects.put_if_absent(name_of(7), json.dumps(content).encode())
    assert CommitLog(objects, PREFIX).last() == replace(COMMIT, after=None, plan="")
    objects.put_if_absent(name_of(8), json.dumps(content).encode())
    with pytest.raises(StateCorruptError, match="it is the commit of batch 7, which was copied"):
        CommitLog(objects, PREFIX).last()


def _ref(*parts: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.update(d=[list(parts)])


@pytest.mark.parametrize(
    "forge",
    [
        lambda c: c.update(v=-1), lambda c: c.update(v="1"), lambda c: c.update(v=2**70),
        lambda c: c.update(l="../x"), lambda c: c.update(l=7), lambda c: c.update(s=[1]),
        lambda c: c.update(m=[]), lambda c: c.update(n=None), lambda c: c.update(o=1),
        lambda c: c.update(d=[7]), lambda c: c.update(d={}), lambda c: c.pop("l"),
        _ref("1-a.delta", "ab" * 8, 1), _ref("../1-a.delta", "ab" * 8, 1, 0),
        _ref("/1-a.delta", "ab" * 8, 1, 0), _ref("a.delta", "ab" * 8, 1, 0),
        _ref("1-a.delta", "xy", 1, 0), _ref("1-a.delta", "ab" * 8, -1, 0),
        _ref("1-a.delta", "ab" * 8, 1, "0"), _ref(7, "ab" * 8, 1, 0),
        _ref("1-a.pack", "ab" * 8, 1, 0, 7), _ref("1-a.pack", "ab" * 8, 1, 0, -1, 2),
        _ref("1-a.pack", "ab" * 8, 1, 0, "0", 2), _ref("1-a.pack", "ab" * 8, 1, 0, 0, None),
    ],
)  # fmt: skip
def test_forged_pointer_is_rejected(forge: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(Pointer.empty().to_json())
    forge(content)
    with pytest.raises(StateCorruptError, match="cannot read the state pointer"):
        Pointer.from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["", "[]", "7", "{", '"x"', "[" * 100_000], ids=lambda t: t[:5])
def test_malformed_pointer_is_rejected(text: str) -> None:
    with pytest.raises(StateCorruptError, match="cannot read the state pointer"):
        Pointer.from_json(text)
