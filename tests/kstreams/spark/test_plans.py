"""Plan files: numbered without gaps, written once, found again."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from kstreams.errors import FencedError
from kstreams.spark.envelope import Envelope
from kstreams.spark.plans import Plan, PlanDirectory, Slice

KEYS = ((7, 9), (3, 4, 5))
SLICE = Slice("source", "topic", 1, "segment", 3, 8)
PLAN = Plan({(0, 1): (SLICE,), (1, 2): ()}, {"topic/1": 8}, wall_ms=5)


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_plan_addresses_its_tasks_through_the_first_stage(tmp_path: Path) -> None:
    directory = PlanDirectory(tmp_path / "plans")
    directory.write(0, PLAN, KEYS)
    first, *rows = _rows(directory.path / "000000000000.json")
    assert first == {"positions": {"topic/1": 8}}
    assert [(row["stage"], row["key"]) for row in rows] == [(0, 9), (1, 7)]
    envelopes = [Envelope.unpack(base64.b64decode(str(row["payload"]))) for row in rows]
    assert [(e.stage, e.task, e.header["plan"], e.header["wall"]) for e in envelopes] == [
        (0, 1, 0, 5),
        (1, 2, 0, 5),
    ]
    assert [Slice.from_json(s) for s in envelopes[0].header["slices"]] == [SLICE]
    assert PLAN.record_count == 5


def test_a_restart_finds_number_and_positions(tmp_path: Path) -> None:
    directory = PlanDirectory(tmp_path)
    assert (directory.last_number(), directory.positions()) == (-1, {})
    for number in range(3):
        directory.write(number, Plan({(0, 0): ()}, {"topic/0": number}), KEYS)
    again = PlanDirectory(tmp_path)
    assert (again.last_number(), again.positions()) == (2, {"topic/0": 2})


def test_a_number_is_taken_once(tmp_path: Path) -> None:
    directory = PlanDirectory(tmp_path)
    directory.write(0, PLAN, KEYS)
    before = (tmp_path / "000000000000.json").read_bytes()
    with pytest.raises(FencedError, match="another driver") as caught:
        PlanDirectory(tmp_path).write(0, Plan({(0, 0): ()}), KEYS)
    assert "stop one of them" in str(caught.value)
    assert (tmp_path / "000000000000.json").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["000000000000.json"]


def test_modification_times_rise_with_the_numbers(tmp_path: Path) -> None:
    directory = PlanDirectory(tmp_path)
    for number in range(3):
        directory.write(number, PLAN, KEYS)
    times = [file.stat().st_mtime for file in sorted(tmp_path.iterdir())]
    assert [later - times[0] for later in times] == [0, 1, 2]


def test_old_plans_go_and_the_newest_stays(tmp_path: Path) -> None:
    directory = PlanDirectory(tmp_path)
    for number in range(4):
        directory.write(number, PLAN, KEYS)
    directory.forget_before(2)
    assert directory.numbers() == [2, 3]
    directory.forget_before(99)
    assert directory.numbers() == [3]


def test_what_is_half_written_is_no_plan(tmp_path: Path) -> None:
    directory = PlanDirectory(tmp_path)
    (tmp_path / ".0-123.tmp").write_text('{"positions"')
    assert directory.numbers() == []
    directory.write(0, PLAN, KEYS)
    assert directory.numbers() == [0]
