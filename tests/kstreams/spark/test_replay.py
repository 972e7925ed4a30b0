"""Batches retried after a crash or a failed task have the same results as without it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from kstreams.batch.io.embedded import feed as embedded_feed
from kstreams.batch.io.embedded import topic_io as embedded_io
from kstreams.checkpoint.checkpoint import query_name
from kstreams.errors import ExecutionError, KStreamsError
from kstreams.state import Memory
from tests.kstreams.spark.failing_processors import (
    LAST,
    LATER,
    MARKS,
    SEEN,
    FailingMemory,
    Trap,
    marking,
)
from tests.support.spark.bench import (
    COUNTS,
    TOTALS,
    WORDS,
    Bench,
    counting,
    expected_totals,
    last_values,
)

pytestmark = pytest.mark.spark

FIRST = [("a", "1"), ("b", "1"), ("bad", "1"), ("c", "1")]
SECOND = [("a", "2"), ("bad", "2"), ("d", "2")]
THIRD = [("a", "3"), ("b", "3"), ("d", "3")]


def _forget_end_of(bench: Bench, batch: int) -> None:
    """Remove the note of a batch's end, as if its driver had crashed before it."""
    name = query_name(marking().pipelines()[0])
    (bench.checkpoint / "queries" / name / "done" / str(batch)).unlink()


def check_one_truth(bench: Bench, written: Sequence[tuple[str, str]]) -> None:
    """Check that stores and topics of both groups have the same marks, each once."""
    marks = bench.records(MARKS)
    assert Counter((k, v.split(":")[0]) for k, v in marks) == Counter(written)
    assert Counter((f"{k}'", v) for k, v in marks) == Counter(bench.records(LATER))
    assert bench.store(marking(), LAST) == last_values(marks)
    assert bench.store(marking(), SEEN) == {f"{k}'": v for k, v in last_values(marks).items()}


def _begin(bench: Bench) -> int:
    """Run an app on some words; return the number of its last batch."""
    bench.create(WORDS)
    with bench.app(marking()) as app:
        app.open()
        for words in ([], FIRST, SECOND):
            bench.emit(WORDS, words)
            app.drain()
    return bench.reports[-1].batch


def _run_again(bench: Bench) -> None:
    bench.emit(WORDS, THIRD)
    bench.run(marking())
    check_one_truth(bench, [*FIRST, *SECOND, *THIRD])


def test_restart_accepts_commit_without_finished_note_and_repeats_nothing(bench: Bench) -> None:
    last = _begin(bench)
    check_one_truth(bench, [*FIRST, *SECOND])
    before = bench.raw(MARKS), bench.raw(LATER)
    _forget_end_of(bench, last)
    bench.run(marking())
    assert (bench.raw(MARKS), bench.raw(LATER)) == before
    _run_again(bench)


def _raise_once(module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = getattr(module, name)
    failed: list[str] = []

    def fail(*arguments: Any, **named: Any) -> Any:
        if failed:
            return real(*arguments, **named)
        failed.append(name)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, name, fail)


def test_crash_between_commit_and_publish_loses_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, [*FIRST, *SECOND])
    _raise_once(embedded_feed, "publish", monkeypatch)
    with pytest.raises(ExecutionError, match="Input/output error"):
        bench.run(marking())
    assert MARKS.name not in bench.connection.admin().topics() or not bench.raw(MARKS)
    _run_again(bench)


def test_crash_during_publish_repeats_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, [*FIRST, *SECOND])
    real = embedded_io.publish

    def half(log: Any, outputs: Any, batch: int) -> None:
        real(log, outputs[: len(outputs) // 2], batch)
        monkeypatch.setattr(embedded_feed, "publish", real)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(embedded_feed, "publish", half)
    with pytest.raises(ExecutionError, match="Input/output error"):
        bench.run(marking())
    _run_again(bench)


def test_crash_between_publish_and_spark_commit_repeats_nothing(bench: Bench) -> None:
    def fail(_: object) -> None:
        raise ValueError("a listener's own mistake")

    bench.create(WORDS)
    bench.emit(WORDS, [*FIRST, *SECOND])
    with pytest.raises(
        ExecutionError, match="on_batch raised ValueError: a listener's own"
    ) as caught:
        bench.run(marking(), on_batch=fail)
    assert "fix the function" in str(caught.value)
    check_one_truth(bench, [*FIRST, *SECOND])
    _run_again(bench)


def test_deleted_output_topic_does_not_prevent_restart(bench: Bench) -> None:
    _begin(bench)
    bench.connection.admin().delete(LATER.name)
    bench.emit(WORDS, THIRD)
    bench.run(marking())
    assert Counter(k for k, _ in bench.records(LATER)) == Counter(f"{k}'" for k, _ in THIRD)


@pytest.mark.engines("spark", "group-state")
def test_task_that_fails_twice_has_same_results(bench: Bench) -> None:
    trap = Trap(bench.home / "trap", times=2)
    bench.create(WORDS)
    bench.emit(WORDS, FIRST)
    trap.arm()
    bench.run(marking(trap))
    assert trap.sprung == 2
    check_one_truth(bench, FIRST)


@pytest.mark.engines("spark", "group-state")
def test_task_that_fails_after_staging_output_has_same_results(bench: Bench) -> None:
    trap = Trap(bench.home / "trap", times=2)
    bench.create(WORDS)
    bench.emit(WORDS, FIRST)
    trap.arm()
    bench.run(counting(), state=FailingMemory(trap=trap))
    assert trap.sprung == 2
    assert Counter(bench.records(TOTALS)) == expected_totals(FIRST)
    assert bench.store(counting(), COUNTS) == Counter(key for key, _ in FIRST)


@pytest.mark.engines("spark", "group-state")
def test_task_that_fails_too_often_leaves_no_results(bench: Bench) -> None:
    trap = Trap(bench.home / "trap")
    bench.create(WORDS)
    bench.emit(WORDS, FIRST)
    trap.arm()
    with pytest.raises(KStreamsError, match="this attempt fails"):
        bench.run(marking(trap))
    assert trap.sprung == 3
    trap.disarm()
    bench.emit(WORDS, SECOND)
    _run_again(bench)


def test_lost_local_state_is_restored(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, FIRST)
    local = bench.home / "local"
    bench.run(marking(), state=Memory(directory=str(local)))
    shutil.rmtree(local)
    bench.emit(WORDS, SECOND)
    bench.run(marking(), state=Memory(directory=str(bench.home / "elsewhere")))
    check_one_truth(bench, [*FIRST, *SECOND])
