"""A session of the tests' context with the settings that streams of DataFrames want."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.kstreams.spark.frames.streams import SETTINGS


@pytest.fixture(scope="session")
def stream_session(spark: SparkSession) -> SparkSession:
    """Return a session for queries with two tasks."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session
