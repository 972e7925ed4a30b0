"""A session of the test's Spark context with the settings for streams of DataFrames."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.spark.file_streams import SETTINGS


@pytest.fixture(scope="session")
def stream_session(spark: SparkSession) -> SparkSession:
    """Return a session for queries with two tasks."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session
