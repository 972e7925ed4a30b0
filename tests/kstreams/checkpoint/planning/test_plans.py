"""Plan files: one for each batch, written once, found again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan, Slice
from kstreams.errors import FencedError, StateCorruptError
from kstreams.ids import TopicPartition
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.state.log.document import seal

SLICE = Slice("source", "topic", 1, 3, 8, "segment")
PLAN = Plan(
    {(0, 1): (SLICE,), (1, 2): ()},
    {TopicPartition("topic", 1): 8},
    5,
    since_ms=4,
    close_windows=True,
    topics={"topic": "id"},
)


def test_plan_log_finds_written_plan_and_none_for_other_batch(tmp_path: Path) -> None:
    PlanLog(DirectoryObjectStore(tmp_path / "plans")).write(3, PLAN)
    again = PlanLog(DirectoryObjectStore(tmp_path / "plans"))
    assert again.find(3) == PLAN
    assert again.find(2) is None
    assert PLAN.record_count == 5


def test_restart_finds_plan_with_highest_number(tmp_path: Path) -> None:
    directory = PlanLog(DirectoryObjectStore(tmp_path))
    assert directory.newest() is None
    for number in (0, 1, 10, 2):
        directory.write(number, Plan({(0, 0): ()}, {TopicPartition("topic", 0): number}))
    newest = PlanLog(DirectoryObjectStore(tmp_path)).newest()
    assert newest is not None
    assert newest.positions == {TopicPartition("topic", 0): 10}


def test_plan_log_rejects_second_plan_of_same_number(tmp_path: Path) -> None:
    directory = PlanLog(DirectoryObjectStore(tmp_path))
    directory.write(0, PLAN)
    with pytest.raises(FencedError, match="another driver"):
        PlanLog(DirectoryObjectStore(tmp_path)).write(0, Plan({(0, 0): ()}))
    assert directory.find(0) == PLAN
    assert [path.name for path in tmp_path.glob("*.json")] == ["000000000000.json"]


def test_plan_log_begin_returns_start_positions_of_first_start_at_each_restart(
    tmp_path: Path,
) -> None:
    decided = Plan({}, {TopicPartition("topic", 0): 7}, topics={"topic": "id"})
    assert (
        PlanLog(DirectoryObjectStore(tmp_path)).begin(
            {TopicPartition("topic", 0): 7}, {"topic": "id"}
        )
        == decided
    )
    assert (
        PlanLog(DirectoryObjectStore(tmp_path)).begin(
            {TopicPartition("topic", 0): 9}, {"topic": "other"}
        )
        == decided
    )
    assert PlanLog(DirectoryObjectStore(tmp_path)).newest() is None


def test_plans_of_earlier_format_have_no_topic_ids(tmp_path: Path) -> None:
    (tmp_path / "begin.json").write_text('{"topic/0": 7}')
    assert PlanLog(DirectoryObjectStore(tmp_path)).begin({}, {"topic": "id"}) == Plan(
        {}, {TopicPartition("topic", 0): 7}
    )
    old = {"positions": {"topic/0": 8}, "wall": 1, "since": 2, "close": False, "tasks": []}
    (tmp_path / "000000000000.json").write_text(json.dumps(old))
    assert PlanLog(DirectoryObjectStore(tmp_path)).find(0) == Plan(
        {}, {TopicPartition("topic", 0): 8}, 1, 2
    )


def test_plan_log_removes_old_plans_and_keeps_newest(tmp_path: Path) -> None:
    directory = PlanLog(DirectoryObjectStore(tmp_path))
    for number in range(4):
        directory.write(number, PLAN)
    directory.forget_before(2)
    assert directory.numbers() == [2, 3]
    directory.forget_before(10)
    assert directory.numbers() == [3]


def test_plan_log_returns_newest_revision_of_plan(tmp_path: Path) -> None:
    directory = PlanLog(DirectoryObjectStore(tmp_path))
    directory.write(3, PLAN)
    smaller = Plan({(0, 1): (SLICE.until(5),)}, {TopicPartition("topic", 1): 5}, cuts={(0, 1): 1})
    directory.replace(3, smaller)
    smallest = Plan({(0, 1): (SLICE.until(4),)}, {TopicPartition("topic", 1): 4}, cuts={(0, 1): 2})
    directory.replace(3, smallest)
    again = PlanLog(DirectoryObjectStore(tmp_path))
    assert again.find(3) == smallest
    newest = again.newest()
    assert newest is not None
    assert newest.positions == {TopicPartition("topic", 1): 4}
    assert again.strays() == []
    assert again.numbers() == [3]


def test_plan_log_rejects_second_plan_of_same_revision(tmp_path: Path) -> None:
    directory = PlanLog(DirectoryObjectStore(tmp_path))
    directory.write(3, PLAN)
    smaller = Plan({(0, 1): (SLICE.until(5),)}, {TopicPartition("topic", 1): 5}, cuts={(0, 1): 1})
    directory.replace(3, smaller)
    with pytest.raises(FencedError, match="revision 1 of plan 3"):
        PlanLog(DirectoryObjectStore(tmp_path)).replace(3, Plan({}, {}, cuts={(0, 1): 1}))
    assert directory.find(3) == smaller


def test_plan_log_removes_revisions_with_their_plan(tmp_path: Path) -> None:
    directory = PlanLog(DirectoryObjectStore(tmp_path))
    for number in range(3):
        directory.write(number, PLAN)
        directory.replace(number, Plan({}, {TopicPartition("topic", 1): 1}, cuts={(0, 1): 1}))
    directory.forget_before(2)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [
        "000000000002-1.json",
        "000000000002.json",
    ]


def test_slice_of_topic_is_cut_at_given_offset() -> None:
    assert SLICE.until(9) is SLICE
    assert (SLICE.until(5).to_offset, len(SLICE.until(5))) == (5, 2)
    assert len(SLICE.until(1)) == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("positions", []), ("positions", {"t/0": -1}), ("positions", {"t/0": 2**63}),
        ("wall", "1"), ("wall", -1), ("since", None), ("close", 1), ("tasks", {}),
        ("tasks", [7]), ("tasks", [[0, -1, []]]), ("tasks", [["0", 0, []]]),
        ("tasks", [[0, 0, [["n", "t", 0, 5, 3, ""]]]]), ("tasks", [[0, 0, [["n", "t", 0]]]]),
        ("tasks", [[0, 0, [["n", "t", 0, -1, 3, ""]]]]), ("after", 7), ("after", [1, 2]),
        ("topics", {"t": 1}),
    ],
)  # fmt: skip
def test_plan_with_fields_of_wrong_types_is_rejected(
    tmp_path: Path, field: str, value: object
) -> None:
    directory = PlanLog(DirectoryObjectStore(tmp_path), log_name="epoch")
    content = {**PLAN.to_json(), field: value}
    name = "000000000003.json"
    (tmp_path / name).write_bytes(seal(content, f"plans/life/{name}").data)
    with pytest.raises(StateCorruptError, match=r"000000000003\.json' in .* cannot be read"):
        directory.find(3)


def test_plan_log_rejects_plans_of_another_epoch(tmp_path: Path) -> None:
    PlanLog(DirectoryObjectStore(tmp_path), log_name="one").write(0, PLAN)
    with pytest.raises(StateCorruptError, match="which was copied to this name"):
        PlanLog(DirectoryObjectStore(tmp_path), log_name="two").newest()
