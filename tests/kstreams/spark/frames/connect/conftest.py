"""A session of the Spark Connect server with the settings for streams of DataFrames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.servers.spark_connect import SparkConnectServer
from tests.support.servers.fixtures import connect_to
from tests.support.spark.file_streams import SETTINGS, Streams


@pytest.fixture(scope="session")
def connect_session(connect_server: SparkConnectServer) -> Iterator[SparkSession]:
    """Return a session for queries with two tasks."""
    session = connect_to(connect_server)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def connect_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make PySpark treat sessions as remote, as `SparkSession.builder.remote` does permanently.

    Other tests of this process use a classic session.
    """
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")


@pytest.fixture
def streams(tmp_path: Path, connect_session: SparkSession) -> Streams:
    """Return stream directories of one test."""
    return Streams(tmp_path, connect_session)
