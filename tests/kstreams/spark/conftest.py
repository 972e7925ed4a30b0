"""The one Spark session of all tests in this process, and a place for an app's files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kstreams.spark.session import app_session
from tests.kstreams.spark.apps import Bench


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark with two cores; a task may fail twice before its batch."""
    session = app_session("kstreams tests", config={"spark.master": "local[2,3]"})
    yield session
    session.stop()


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    """Make apps on embedded topics in a directory of the test's own."""
    made = Bench(tmp_path, spark)
    yield made
    made.close()
