"""Several sinks of one query: each task runs once a batch, and no sink loses a result."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.servers.fixtures import ROOT
from tests.support.spark.file_streams import Streams
from tests.support.spark.two_sinks_query import (
    BATCHES,
    EXPECTED,
    fail,
    fail_between_the_sinks,
    found,
    started,
)
from tests.support.topologies.frame_topologies import LINES

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.mark.long
def test_write_each_to_two_sinks_computes_batch_once_and_loses_nothing(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    query = fail_between_the_sinks(Streams(tmp_path, stream_session))
    progress = [each for each in query.recentProgress if each["numInputRows"]]
    counts = [each["observedMetrics"]["word-count-dropped"]["records"] for each in progress]
    assert counts == [0, 0]


@pytest.mark.kill
@pytest.mark.slow
def test_driver_killed_between_two_sinks_loses_nothing(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    streams = Streams(tmp_path, stream_session)
    for batch in BATCHES:
        streams.write(LINES, batch)
    command = [sys.executable, "-m", "tests.support.spark.two_sinks_query", str(tmp_path)]
    died = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    assert died.returncode == -signal.SIGKILL
    started(streams, fail).awaitTermination()
    assert found(streams) == EXPECTED
