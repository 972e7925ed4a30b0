"""The Spark session shared by all tests of this process, and a directory for each app."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kstreams.spark.session import app_session
from tests.support.spark.bench import Bench


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark with two cores; a batch fails after three failures of a task."""
    session = app_session("kstreams tests", config={"spark.master": "local[2,3]"})
    yield session
    session.stop()


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    """Create apps on embedded topics in a directory of the test."""
    made = Bench(tmp_path, spark)
    yield made
    made.close()
