"""Death of a worker: the error names group, partition, offsets and number of attempts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from kstreams import (
    TEXT,
    Embedded,
    Record,
    Topology,
    TopologyBuilder,
    key_value_store,
    rekey,
)
from kstreams.batch.messages.envelope import Envelope
from kstreams.batch.messages.task_call import TaskCall
from kstreams.checkpoint.planning.plans import Plan, Slice
from kstreams.errors import ProcessingError, WorkerDiedError
from kstreams.partitioner import partition_of
from kstreams.spark.worker_deaths import WorkerDeaths
from tests.kstreams.spark.failing_processors import Trap
from tests.kstreams.spark.test_bad_input import BAD_PARTITION, GOOD, MORE, check, offset_of_bad
from tests.support.spark.bench import (
    COUNTS,
    TOTALS,
    WORDS,
    Bench,
    Count,
    counting,
    expected_totals,
    sums,
)

CRASHED = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider"
LOST = "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: code 137"
BROKEN = "java.io.IOException: Broken pipe"


JAVAS: Any = type("Py4JJavaError", (Py4JError,), {})
"""A fake of a Java exception, which would need a JVM."""


def failed(reason: str, *, part: int = 0, stage: int = 7, times: int = 1) -> Py4JError:
    """Return the exception that Spark raises for a failed job, with a Java stack frame."""
    task = f"Task {part} in stage {stage}.0 failed {times} times, most recent failure: "
    lost = f"Lost task {part}.0 in stage {stage}.0 (TID 5) (localhost executor driver): {reason}"
    text = f"Job aborted due to stage failure: {task}{lost}\n\tat org.apache.Spark(S)"
    found: Py4JError = JAVAS(text)
    return found


class Batch(WorkerDeaths):
    """The deaths of a batch with two tasks of the first stage in two Spark partitions."""

    plan = Plan(
        {
            (0, 0): (Slice("words", "w", 0, 5, 7), Slice("words", "w", 0, 7, 9)),
            (0, 1): (Slice("words", "w", 1, 3, 4), Slice("more", "m", 1, 0, 2)),
            (1, 1): (Slice("later", "l", 1, 8, 9),),
        }
    )
    parts = [
        [
            (part, Envelope(0, part, TaskCall((), 0)).pack()),
            (part, Envelope(1, 2, TaskCall((), 0, required=False)).pack()),
        ]
        for part in (0, 1)
    ]

    def __init__(self, *groups: str) -> None:
        super().__init__("q", 4, groups or ("g",), width=2)

    def of(self, exc: Exception, spark: Any = None) -> WorkerDiedError | None:
        return self.add(exc, spark, self.plan, self.parts)


@pytest.mark.parametrize("reason", [CRASHED, LOST, BROKEN])
def test_error_of_dead_worker_names_query_task_and_offsets_in_process(reason: str) -> None:
    found = Batch().of(failed(reason))
    assert found is not None
    assert (found.deaths, found.under_way) == (1, (("w", 0, 5, 9),))
    assert "batch 4 of query 'q', once (group 'g', partition 0)" in found.message
    assert "w/0 from offset 5 to 9" in found.message
    assert (found.where.group, found.where.partition) == ("g", 0)
    assert (found.where.topic, found.where.offset) == ("w", 5)
    assert found.hint
    assert "Spark" not in found.message


def test_deaths_in_attempts_of_spark_and_retries_of_batch_are_counted() -> None:
    counted = Batch()
    first = counted.of(failed(CRASHED, part=1, times=2))
    assert first is not None
    assert (first.deaths, first.under_way) == (2, (("w", 1, 3, 4), ("m", 1, 0, 2)))
    second = counted.of(failed(CRASHED))
    assert second is not None
    assert second.deaths == 3


class Tracked:
    """A fake of Spark's status tracker: the stages of the last job are 6 and 7."""

    def __init__(self) -> None:
        stages = {3: [7, 6], 2: [5]}
        self.statusTracker = lambda: self
        self.getLocalProperty = lambda _: "query"
        self.getJobIdsForGroup = lambda _: list(stages)
        self.getJobInfo = lambda job: SimpleNamespace(stageIds=stages[job])


def test_error_after_repartition_names_all_offsets_of_batch() -> None:
    tracked: Any = Tracked()
    found = Batch("g", "h").of(failed(CRASHED, part=1, stage=7), tracked)
    assert found is not None
    assert (found.where.group, found.where.partition) == ("h", 1)
    assert len(found.under_way) == 4
    unknown = Batch("g", "h").of(failed(CRASHED, part=1, stage=9), tracked)
    assert unknown is not None
    assert "groups ['g', 'h']" in unknown.message


@pytest.mark.parametrize(
    "other",
    [
        failed("org.apache.spark.api.python.PythonException: Traceback: Broken pipe"),
        failed(f"java.lang.IllegalStateException: no\n{CRASHED}"),
        Py4JNetworkError("no answer"),
        ValueError(CRASHED),
    ],
    ids=["python", "java", "jvm", "other"],
)
def test_failures_without_worker_crash_are_not_counted_as_deaths(other: Exception) -> None:
    assert Batch().of(other) is None


# ------------------------------------------------------------ on Spark


class DyingCount(Count):
    """Counts; kills its process at the key `bad`."""

    def __init__(self, trap: Trap, *, killed: bool = False) -> None:
        self.trap, self.killed = trap, killed

    def process(self, record: Record[str, str]) -> None:
        if record.key == "bad" and self.trap.spring():
            if self.killed:
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(3)
        super().process(record)


@pytest.mark.spark
def test_record_that_kills_its_worker_stops_app_with_details(bench: Bench) -> None:
    trap = Trap(bench.home / "trap")
    bench.create(WORDS)
    bench.emit(WORDS, GOOD)
    bench.run(counting())
    trap.arm()
    bench.emit(WORDS, MORE)
    with pytest.raises(WorkerDiedError) as caught:
        bench.run(counting(lambda: DyingCount(trap)))
    error = caught.value
    begin, end = offset_of_bad(GOOD), offset_of_bad(GOOD + MORE)
    assert error.under_way == (("words", BAD_PARTITION, begin, end),)
    assert error.deaths == trap.sprung == 3  # this session retries a task twice
    assert (error.where.app, error.where.group) == ("counting", "words")
    assert error.where.partition == BAD_PARTITION
    assert "Java" not in str(error)
    assert len(str(error)) < 1_000
    check(bench, GOOD)
    trap.disarm()
    bench.run(counting())
    check(bench, GOOD + MORE)


def _other(key: str, value: str) -> str:
    return key


@pytest.mark.spark
def test_error_of_worker_killed_after_repartition_names_its_group(bench: Bench) -> None:
    trap = Trap(bench.home / "trap")
    builder = TopologyBuilder("edged")
    moved = builder.add_processor("move", rekey(_other), builder.add_source("words", WORDS))
    edge = builder.repartition("edge", moved, key=TEXT, value=TEXT)
    count = builder.add_processor("count", lambda: DyingCount(trap), edge, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, count)
    topology = builder.build()
    bench.create(WORDS)
    bench.emit(WORDS, GOOD + MORE)
    trap.arm()
    with pytest.raises(WorkerDiedError) as caught:
        bench.run(topology)
    error = caught.value
    assert error.where.group == topology.group_of_store("counts").name
    assert sorted(error.under_way) == [("words", p, 0, n) for p, n in sorted(_ends().items())]
    trap.disarm()
    bench.run(topology)
    assert Counter(bench.records(TOTALS)) == expected_totals(GOOD + MORE)


def _ends() -> Counter[int]:
    return Counter(partition_of(key.encode(), 2) for key, _ in GOOD + MORE)


_RUN = """
import sys
from datetime import timedelta
from pathlib import Path
from kstreams import App, Embedded
from kstreams.errors import WorkerDiedError
from kstreams.spark.session import app_session
from tests.support.spark.bench import counting
from tests.kstreams.spark.test_worker_deaths import DyingCount
from tests.kstreams.spark.failing_processors import Trap

home = Path(sys.argv[1])
spark = app_session("deaths", config={"spark.master": "local[2]"})
for times in (2, 1_000):
    trap = Trap(home / f"trap-{times}", times=times)
    trap.arm()
    app = App(
        counting(lambda: DyingCount(trap, killed=True)), Embedded(home / f"topics-{times}"),
        checkpoint=home / f"checkpoint-{times}", parallelism=2, trigger=timedelta(0), spark=spark,
    )
    try:
        app.run(until="end")
    except WorkerDiedError as exc:
        print("died", exc.deaths, trap.sprung, exc.where.partition)
    else:
        print("ended", trap.sprung)
"""


@pytest.mark.spark
@pytest.mark.kill
@pytest.mark.timeout(300)
def test_batch_is_retried_up_to_three_deaths_if_spark_does_not_retry(
    bench: Bench,
) -> None:
    for times in (2, 1_000):
        bench.connection = Embedded(bench.home / f"topics-{times}", durable=False)
        bench.create(WORDS)
        bench.emit(WORDS, GOOD + MORE)
    command = [sys.executable, "-c", _RUN, str(bench.home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.splitlines() == ["ended 2", f"died 3 3 {BAD_PARTITION}"]
    assert done.stderr.count("the batch runs again") == 2 + 2
    bench.connection, bench.checkpoint = (
        Embedded(bench.home / "topics-2", durable=False),
        bench.home / "checkpoint-2",
    )
    check(bench, GOOD + MORE)
    bench.connection, bench.checkpoint = (
        Embedded(bench.home / "topics-1000", durable=False),
        bench.home / "checkpoint-1000",
    )
    bench.run(counting())
    check(bench, GOOD + MORE)


class Exit(BaseException):
    """An exit exception of the user."""


class ExitingCount(Count):
    """Counts; exits at the key `bad`, in the way given by the value."""

    def process(self, record: Record[str, str]) -> None:
        super().process(record)
        match record.value:
            case "exit":
                sys.exit(3)
            case "own":
                raise Exit
            case "generator":
                raise GeneratorExit
            case "interrupt":
                raise KeyboardInterrupt
            case "mute":
                raise Mute
            case "surrogate":
                raise ValueError("\ud800")
            case _:
                pass


class Mute(Exception):
    """An exception without text."""

    def __str__(self) -> str:
        raise SystemExit(5)


def exiting(policy: Any) -> Topology:
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS, on_error=policy)
    store = key_value_store("counts", key=TEXT, value=TOTALS.value)
    builder.add_sink(
        "totals", TOTALS, builder.add_processor("count", ExitingCount, words, stores=[store])
    )
    return builder.build()


@pytest.mark.spark
def test_exit_called_by_processor_on_worker_fails_only_its_record(bench: Bench) -> None:
    bench.create(WORDS)
    bad = [("bad", how) for how in ("exit", "own", "generator", "mute", "surrogate")]
    bench.emit(WORDS, [*GOOD, *bad])
    bench.run(exiting("skip"))
    assert Counter(bench.records(TOTALS)) == expected_totals(GOOD)
    assert sums(bench.reports) == {"skipped-ProcessingError": len(bad)}
    bench.emit(WORDS, [("bad", "interrupt")])
    with pytest.raises(ProcessingError, match="KeyboardInterrupt in a processor") as caught:
        bench.run(exiting("skip"))
    where = caught.value.where
    assert (where.node, where.topic, where.offset) == ("count", "words", offset_of_bad(GOOD + bad))
