"""Several sinks of one query: each task runs once a batch, and none loses a result."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kstreams.spark.frames.streams import Streams
from tests.kstreams.spark.frames.two_sinks import fail_between_the_sinks

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_two_sinks_are_computed_once_and_lose_nothing(
    tmp_path: Path, stream_session: SparkSession
) -> None:
    fail_between_the_sinks(Streams(tmp_path, stream_session))
