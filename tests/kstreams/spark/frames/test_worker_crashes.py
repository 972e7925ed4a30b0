"""Workers that crash during a batch on Spark; `test_crash` covers every moment on fakes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kstreams import Record
from kstreams.frames import transform_frames
from kstreams.state.log.directory import Directory
from kstreams_rocksdb import RocksDB
from tests.kstreams.spark.frames.test_transform import on_driver
from tests.support.crash.faults import Faults, FaultyBackend, FaultyLog
from tests.support.spark.file_streams import SETTINGS, Streams, by_topic
from tests.support.topologies.frame_topologies import COUNTS, LINES, WORDS, word_count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

BATCHES = [[Record(b"", f"a b{n % 3} c{n}", 10 * n)] for n in range(4)]
MOMENTS = ("before put delta", "after close attempt")
"""A moment in the state of the first group, and one in that of the second, at another start."""


@pytest.mark.long
def test_file_sink_has_each_row_once_after_crash_of_any_worker(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    session = stream_session.newSession()
    for name, value in {
        **SETTINGS,
        "spark.sql.streaming.unsupportedOperationCheck": "false",
    }.items():
        session.conf.set(name, value)
    streams = Streams(tmp_path, session)
    faults = Faults(tmp_path / "faults")
    log = FaultyLog(Directory(str(tmp_path / "log")), faults)
    backend = RocksDB(directory=str(tmp_path / "local"))

    def run() -> None:
        results = transform_frames(
            word_count(),
            {LINES: streams.stream(LINES)},
            state=FaultyBackend(backend, faults, log),
            tasks=2,
            operator="group-state",
            packages=(),
        )
        streams.run(results.all)

    streams.write(LINES, BATCHES[0])
    run()
    for batch, moment in zip(BATCHES[1:], MOMENTS, strict=False):
        streams.write(LINES, batch)
        faults.arm(moment)
        with suppress(PySparkException):  # otherwise Spark would retry the task
            run()
        assert faults.struck
    run()
    # Spark dies between its sink and its log of batches, so the last batch is retried.
    done = sorted(tmp_path.glob("results-checkpoint/commits/[0-9]*"), key=lambda p: int(p.name))
    done[-1].unlink()
    streams.write(LINES, BATCHES[-1])
    run()
    expected = on_driver(word_count(), LINES, BATCHES, [WORDS, COUNTS])
    assert by_topic(streams.read(), [WORDS, COUNTS]) == expected
