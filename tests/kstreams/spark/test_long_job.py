"""One long Spark job runs many batches, yields to other jobs, and reports failures of batches."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from kstreams.spark.pinned_workers import PinnedWorkers
from kstreams.spark.stage import Turn, Turns
from kstreams.spark.standing_job import StandingJob
from kstreams.spark.worker import attempt, drop_spark_archives
from kstreams.spark.worker_deaths import WorkerDeaths

pytestmark = pytest.mark.spark

GROUP = "standing"


def work(turns: Turns) -> None:
    """Perform the action of a message; answer with batch, message and process."""
    drop_spark_archives()  # otherwise each job starts slowly
    while (given := turns.next()) is not None:
        turn, messages = given
        answers = []
        for number, message in messages:
            if message == b"fail":
                raise ValueError(f"batch {turn.batch} failed")
            if message == b"die":
                os.kill(os.getpid(), signal.SIGKILL)
            if message == b"fail once" and attempt() == 1:
                raise ValueError("not the first time")
            if message.startswith(b"wait"):
                time.sleep(float(message[4:]))
            while message.startswith(b"until ") and not Path(os.fsdecode(message[6:])).exists():
                time.sleep(0.01)
            answers.append((number, b"%d %d %s" % (turn.batch, os.getpid(), message)))
        turns.answer(answers)


class LongJob:
    """A long job of two workers, with a count of Spark jobs."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._context.setJobGroup(GROUP, "")
        self._before = set(self._ids())
        self.job = StandingJob(self._context, work, PinnedWorkers(self._context), 2)
        self._batch = 0

    def _ids(self) -> list[int]:
        return list(self._context.statusTracker().getJobIdsForGroup(GROUP))

    @property
    def jobs(self) -> int:
        return len(set(self._ids()) - self._before)

    def ran(self, *messages: bytes, only: Sequence[int] = (0, 1)) -> dict[int, list[bytes]]:
        """Run a batch with these messages for each worker; return number, process and message."""
        self._batch += 1
        parts = {number: [(number, message) for message in messages] for number in only}
        answers = self.job.run(f"batch {self._batch}", Turn(self._batch, {}, {}), parts)
        assert all(answer.startswith(b"%d " % self._batch) for _, answer in answers)
        return {number: answer.split(b" ", 2)[1:] for number, answer in answers}


@pytest.fixture
def long_job(spark: SparkSession) -> Iterator[LongJob]:
    made = LongJob(spark)
    yield made
    made.job.close()
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_one_job_runs_many_batches_with_one_worker_for_each_part(long_job: LongJob) -> None:
    answers = [long_job.ran(b"a", b"b") for _ in range(20)]
    assert {answer[number][1] for answer in answers for number in (0, 1)} == {b"b"}
    workers = [{answer[number][0] for answer in answers} for number in (0, 1)]
    assert [len(pids) for pids in workers] == [1, 1]
    assert workers[0] != workers[1]
    assert long_job.ran(b"alone", only=[1]).keys() == {1}
    assert long_job.jobs < 5


def test_next_long_job_uses_same_workers(long_job: LongJob) -> None:
    long_job.ran(b"a")
    first = long_job.ran(b"a")  # workers that start slowly may take a second job
    jobs = long_job.jobs
    long_job.job.rest()
    assert long_job.ran(b"a") == first
    assert long_job.jobs == jobs + 1


def test_other_jobs_get_cores_between_batches(long_job: LongJob, spark: SparkSession) -> None:
    found: list[int] = []

    def count() -> None:
        found.append(spark.sparkContext.parallelize(range(10), 2).count())

    long_job.ran(b"a")
    other = threading.Thread(target=count)
    other.start()
    end = time.monotonic() + 30
    while other.is_alive() and time.monotonic() < end:
        long_job.ran(b"wait0.01")
    assert found == [10]
    other.join()


def test_long_job_starts_with_one_free_core(long_job: LongJob, spark: SparkSession) -> None:
    context = spark.sparkContext
    started, ended = threading.Event(), threading.Event()

    def hold() -> None:
        started.set()
        context.parallelize([6], 1).foreach(time.sleep)
        ended.set()

    threading.Thread(target=hold).start()
    started.wait()
    time.sleep(1)
    for _ in range(2):
        assert long_job.ran(b"a").keys() == {0, 1}
    assert not ended.wait(0)
    assert ended.wait(60)


def test_failure_of_batch_has_its_reason_and_next_batch_runs(long_job: LongJob) -> None:
    long_job.ran(b"a")
    with pytest.raises(Py4JError, match="batch 2 failed"):
        long_job.ran(b"fail", only=[1])
    assert long_job.ran(b"a").keys() == {0, 1}


def test_failed_task_is_retried_like_by_spark(long_job: LongJob) -> None:
    assert long_job.ran(b"fail once", only=[1])[1][1] == b"fail once"
    assert long_job.jobs == 1
    assert long_job.ran(b"a").keys() == {0, 1}


def test_failure_of_one_part_is_reported_before_other_part_ends(
    long_job: LongJob, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    parts = {0: [(0, b"until %s" % bytes(done))], 1: [(1, b"fail")]}
    with pytest.raises(Py4JError, match="batch 7 failed"):
        long_job.job.run("batch 7", Turn(7, {}, {}), parts)
    done.touch()
    assert long_job.ran(b"a").keys() == {0, 1}


def test_death_of_worker_is_reported_with_its_part(long_job: LongJob) -> None:
    long_job.ran(b"a")
    with pytest.raises(Py4JError) as raised:
        long_job.ran(b"die", only=[1])
    plan: Any = SimpleNamespace(tasks={})
    context: Any = None
    deaths = WorkerDeaths("q", 2, ["g"], width=2)
    assert deaths.add(raised.value, context, plan, [[], []]) is not None
    assert "Task 1 in stage" in str(raised.value)
    assert long_job.ran(b"a").keys() == {0, 1}


def test_worker_that_died_between_batches_is_replaced(long_job: LongJob) -> None:
    first = long_job.ran(b"a")
    os.kill(int(first[0][0]), signal.SIGKILL)
    second = long_job.ran(b"a")
    assert second[0] != first[0]
    assert second[1] == first[1]


@contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def test_long_job_raises_os_error_if_unix_socket_path_is_too_long(
    spark: SparkSession, tmp_path: Path
) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with _temporary(deep), pytest.raises(OSError, match="AF_UNIX"):
        StandingJob(spark.sparkContext, work, PinnedWorkers(spark.sparkContext), 2)
    assert not list(deep.iterdir())
