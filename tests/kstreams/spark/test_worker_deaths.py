"""Death of a worker: the error names group, partition, offsets and number of attempts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from kstreams import (
    TEXT,
    Embedded,
    Record,
    Topology,
    TopologyBuilder,
    key_value_store,
    rekey,
)
from kstreams.errors import ProcessingError, WorkerDiedError
from kstreams.partitioner import partition_of
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
        stage=sys.argv[2],
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
@pytest.mark.engines("spark")
@pytest.mark.parametrize("stage", ["workers", "group-state"])
def test_batch_is_retried_up_to_three_deaths_if_spark_does_not_retry(
    bench: Bench, stage: str
) -> None:
    for times in (2, 1_000):
        bench.connection = Embedded(bench.home / f"topics-{times}", durable=False)
        bench.create(WORDS)
        bench.emit(WORDS, GOOD + MORE)
    command = [sys.executable, "-c", _RUN, str(bench.home), stage]
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
