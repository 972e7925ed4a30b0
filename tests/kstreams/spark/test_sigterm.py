"""SIGTERM during a commit: the batch is finished, and the next start continues."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable

import pytest

from kstreams_rocksdb import RocksDB
from tests.support.processes.batch_barriers import Barriers, GatedLog
from tests.support.spark.bench import TOTALS, WORDS, Bench, counting, expected_totals

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.timeout(300)]

_RUN = """
import sys
from datetime import timedelta
from pathlib import Path
from kstreams import App, Embedded
from kstreams_rocksdb import RocksDB
from tests.support.processes.batch_barriers import GatedLog, Barriers
from tests.support.spark.bench import counting

home = Path(sys.argv[1])
app = App(
    counting(), Embedded(home / "topics"), checkpoint=home / "checkpoint", parallelism=2,
    state=RocksDB(log=GatedLog(str(home / "log"), Barriers(str(home / "gates")))),
    max_records_per_batch=10, trigger=timedelta(0),
)
app.on_state_change(lambda old, new: print(new.value, flush=True))
app.run()
"""


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not come to pass"
        time.sleep(0.05)


def test_sigterm_between_commit_and_publish_finishes_batch_and_loses_nothing(
    bench: Bench,
) -> None:
    words = [(f"k{n % 7}", "x") for n in range(150)]
    bench.create(WORDS, TOTALS)
    bench.emit(WORDS, words)
    (bench.home / "gates").mkdir()
    gates = Barriers(str(bench.home / "gates"))
    command = [sys.executable, "-c", _RUN, str(bench.home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: bool(bench.raw(TOTALS)), 180)
        gates.close("committed")
        wait_for(lambda: bool(gates.held("committed")), 60)
        before = len(bench.raw(TOTALS))
        process.send_signal(signal.SIGTERM)
        gates.open("committed")
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out.split() == ["starting", "running", "stopping", "stopped"]
    done = Counter(bench.records(TOTALS))
    assert before < done.total() < len(words)
    state = RocksDB(log=GatedLog(str(bench.home / "log"), gates))
    bench.run(counting(), state=state)
    assert Counter(bench.records(TOTALS)) == expected_totals(words)
