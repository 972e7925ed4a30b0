"""Where tasks lie, and which checkpoints fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstreams.errors import CheckpointMismatchError, StateCorruptError
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.task_keys import task_keys
from kstreams.spark.frames.task_record import TaskRecord

LAYOUT = Layout("app", "2:abc", ("lines", "by-word"), (4, 8), 4)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (replace(LAYOUT, app="other"), "app_id='app', not 'other'"),
        (replace(LAYOUT, counts=(4, 4)), "other tasks by group"),
        (replace(LAYOUT, fingerprint="2:def"), "another topology"),
    ],
    ids=["app", "tasks", "topology"],
)
def test_a_checkpoint_of_another_query_is_refused(other: Layout, says: str) -> None:
    with pytest.raises(CheckpointMismatchError, match=says):
        other.check(LAYOUT.to_text())


def test_the_width_is_none_of_the_checkpoint_s_layout() -> None:
    replace(LAYOUT, width=8).check(LAYOUT.to_text())


@pytest.mark.parametrize("width", [1, 2, 4, 7])
def test_the_key_of_a_task_does_not_depend_on_how_many_there_are(width: int) -> None:
    assert task_keys(20, width)[:5] == task_keys(5, width)
    assert len(set(task_keys(20, width))) == 20


def test_records_survive_their_text() -> None:
    record = TaskRecord("layout", "pointer", cleaned=50, due_ms=7)
    assert TaskRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize("text", ["", "{}", '{"f": 2}', "[]", '{"f": 1, "layout": 3}'])
def test_a_record_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(StateCorruptError):
        TaskRecord.from_json(text)
