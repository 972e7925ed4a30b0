"""Apps on embedded topics: their lifecycle, without lost or repeated results."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable

import pytest

from kstreams.app import AppState
from kstreams.errors import ExecutionError, ProcessingError
from kstreams.state import Memory
from kstreams_rocksdb import RocksDB
from tests.kstreams.spark.failing_processors import FailingCount, Trap
from tests.support.spark.bench import COUNTS, TOTALS, WORDS, Bench, counting, expected_totals

pytestmark = pytest.mark.spark

LINES = [(f"k{n % 7}", "x") for n in range(50)]


def test_consecutive_runs_number_batches_without_gaps(bench: Bench) -> None:
    bench.create(WORDS)
    for run in range(4):
        bench.emit(WORDS, LINES)
        bench.app(counting()).run(until="end")
        assert [report.batch for report in bench.reports] == [*range(run + 1)]
    assert Counter(bench.records(TOTALS)) == expected_totals(LINES * 4)


def test_run_to_end_counts_present_records_and_stops(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, LINES)
    states: list[tuple[AppState, AppState]] = []
    app = bench.app(counting())
    app.on_state_change(lambda old, new: states.append((old, new)))

    app.run(until="end")

    assert Counter(bench.records(TOTALS)) == expected_totals(LINES)
    assert bench.store(counting(), COUNTS) == Counter(key for key, _ in LINES)
    assert sum(report.source_records for report in bench.reports) == len(LINES)
    assert [new for _, new in states] == [
        AppState.STARTING,
        AppState.RUNNING,
        AppState.STOPPING,
        AppState.STOPPED,
    ]
    assert all(old is before for (old, _), (_, before) in zip(states[1:], states, strict=False))
    with pytest.raises(ExecutionError, match="is stopped"):
        app.open()


@pytest.mark.parametrize("backend", ["memory", "rocksdb"])
def test_drained_and_restarted_app_continues_from_its_state(bench: Bench, backend: str) -> None:
    state = Memory() if backend == "memory" else RocksDB(directory=str(bench.home / "local"))
    bench.create(WORDS)
    written: list[tuple[str, str]] = []
    for start in range(2):
        with bench.app(counting(), state=state) as app:
            app.open()
            for turn in range(3):
                words = [(f"k{(n * (turn + 1) + start) % 5}", "x") for n in range(10)]
                bench.emit(WORDS, words)
                written += words
                app.drain()
                assert Counter(bench.records(TOTALS)) == expected_totals(written)
    assert bench.store(counting(), COUNTS) == Counter(key for key, _ in written)
    assert sum(report.source_records for report in bench.reports) == len(written)
    batches = [report.batch for report in bench.reports]
    assert batches == sorted(set(batches))


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not come to pass"
        time.sleep(0.05)


def test_app_runs_in_background_until_closed(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, LINES)
    app = bench.app(counting())
    app.start()
    wait_for(lambda: sum(report.source_records for report in bench.reports) == len(LINES))
    bench.emit(WORDS, LINES)
    wait_for(lambda: sum(report.source_records for report in bench.reports) == 2 * len(LINES))
    app.close()
    app.close()
    assert app.state is AppState.STOPPED
    assert Counter(bench.records(TOTALS)) == expected_totals(LINES * 2)


def test_failure_in_background_sets_state_and_is_raised_by_close(bench: Bench) -> None:
    trap = Trap(bench.home / "trap")
    bench.create(WORDS)
    bench.emit(WORDS, [("bad", "x")])
    trap.arm()
    app = bench.app(counting(lambda: FailingCount(trap)))
    states: list[AppState] = []
    app.on_state_change(lambda _, new: states.append(new))
    app.start()
    wait_for(lambda: app.state is AppState.FAILED)
    assert isinstance(app.failure, ProcessingError)
    with pytest.raises(ProcessingError, match="this record is bad"):
        app.close()
    assert states == [AppState.STARTING, AppState.RUNNING, AppState.FAILED]
    trap.disarm()
    bench.run(counting())
    assert bench.records(TOTALS) == [("bad", 1)]


_RUN = """
import sys
from datetime import timedelta
from pathlib import Path
from kstreams import App, Embedded
from tests.support.spark.bench import counting

home = Path(sys.argv[1])
app = App(
    counting(), Embedded(home / "topics"), checkpoint=home / "checkpoint", parallelism=2,
    max_records_per_batch=10, trigger=timedelta(0),
)
app.on_state_change(lambda old, new: print(new.value, flush=True))
app.run()
"""


@pytest.mark.kill
@pytest.mark.timeout(300)
def test_sigterm_stops_after_current_batch_without_loss(bench: Bench) -> None:
    words = [(f"k{n % 7}", "x") for n in range(200)]
    bench.create(WORDS)
    bench.emit(WORDS, words)
    command = [sys.executable, "-c", _RUN, str(bench.home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: TOTALS.name in bench.connection.admin().topics(), 120)
        wait_for(lambda: bool(bench.raw(TOTALS)), 60)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out.split() == ["starting", "running", "stopping", "stopped"]
    done = Counter(bench.records(TOTALS))
    assert 0 < done.total() < len(words)
    assert max(done.values()) == 1
    bench.run(counting())
    assert Counter(bench.records(TOTALS)) == expected_totals(words)
