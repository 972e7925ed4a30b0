"""`write_once` writes each row once if the store has rows and fence, also with several writers."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from kstreams.errors import SinkError
from kstreams_rows.fence import Position, write_once
from tests.support.sinks.sink_writes import commit_of


@dataclass
class _Place:
    """Appends rows, so that duplicates are visible."""

    at_once: int = 2
    rows: list[str] = field(default_factory=list)
    fences: dict[str, Position] = field(default_factory=dict)
    dies_after: int = -1

    def position(self, lane: str) -> Position | None:
        found = self.fences.get(lane)
        return found and Position.of(str(found))

    def fitting(self, rows: Sequence[str], start: int) -> int:
        return min(len(rows), start + self.at_once)

    def apply(self, lane: str, rows: Sequence[str], was: Position | None, now: Position) -> bool:
        if self.fences.get(lane) != was:
            return False
        self.rows += rows
        self.fences[lane] = now
        self.dies_after -= 1
        if not self.dies_after:
            raise ConnectionError
        return True


def test_retried_commit_continues_after_the_last_written_row() -> None:
    rows = list("abcdefg")
    for deaths in range(1, 5):
        place = _Place(dies_after=deaths)
        with pytest.raises(ConnectionError):
            write_once(place, commit_of(3), rows)
        place.at_once = 3  # another version of the library uses other chunks
        write_once(place, commit_of(3), rows)
        write_once(place, commit_of(3), rows)
        assert place.rows == rows


def test_older_commit_writes_no_row_and_logs_warning(caplog: pytest.LogCaptureFixture) -> None:
    place = _Place()
    write_once(place, commit_of(3, revision=1), ["a"])
    with caplog.at_level(logging.WARNING):
        write_once(place, commit_of(3), ["x", "y"])
        write_once(place, commit_of(2, revision=5), ["z"])
    assert place.rows == ["a"]
    assert caplog.text.count("older than the fence") == 2


def test_smaller_plan_of_partly_written_batch_is_written_from_first_row() -> None:
    place = _Place(dies_after=2)
    with pytest.raises(ConnectionError):
        write_once(place, commit_of(3), list("abcdef"))
    write_once(place, commit_of(3, revision=1), list("ab"))
    assert place.rows == [*"abcd", *"ab"]


def test_commit_partly_written_by_another_topology_is_continued_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    place = _Place(dies_after=1)
    with pytest.raises(ConnectionError):
        write_once(place, replace(commit_of(), fingerprint="one"), list("abcd"))
    with caplog.at_level(logging.WARNING):
        write_once(place, replace(commit_of(), fingerprint="two"), list("ABCD"))
    assert place.rows == ["a", "b", "C", "D"]
    assert "written by another topology (one, this one is two)" in caplog.text


def test_concurrent_attempts_of_commit_write_each_row_once() -> None:
    for seed in range(20):
        place = _Shared(chance=random.Random(seed))
        attempts = [
            threading.Thread(target=write_once, args=(place, commit_of(3), list("abcdefg")))
            for _ in range(4)
        ]
        for attempt in attempts:
            attempt.start()
        for attempt in attempts:
            attempt.join()
        assert place.rows == list("abcdefg")


@dataclass
class _Shared(_Place):
    """Lets another thread run before each reply, or not."""

    chance: random.Random = field(default_factory=random.Random)
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def position(self, lane: str) -> Position | None:
        time.sleep(self.chance.choice((0, 0.0005)))
        return super().position(lane)

    def apply(self, lane: str, rows: Sequence[str], was: Position | None, now: Position) -> bool:
        time.sleep(self.chance.choice((0, 0.0005)))
        with self.mutex:
            return super().apply(lane, rows, was, now)


@pytest.mark.parametrize("text", ["", "1:2", "a:b:c:", "1:2:x:print"])
def test_invalid_fence_text_raises_sink_error(text: str) -> None:
    with pytest.raises(SinkError, match="position of a task is invalid"):
        Position.of(text)


def test_fence_position_accepts_any_text_as_fingerprint() -> None:
    at = Position(1, 2, 3, "a:b:c")
    assert Position.of(str(at)) == at
