"""The Spark session shared by all tests of this process, and a directory for each app."""

from __future__ import annotations

import os
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only the tests that run on the chosen engine (`KSTREAMS_TEST_ENGINE`)."""
    engine = os.environ.get("KSTREAMS_TEST_ENGINE")
    if engine is None:
        return
    here = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    own = [item for item in here if "bench" in getattr(item, "fixturenames", ())]
    for item in own:
        supported = item.get_closest_marker("engines")
        if supported is not None and engine not in supported.args:
            item.add_marker(pytest.mark.skip(reason=f"not for the engine {engine}"))
    config.hook.pytest_deselected(items=[item for item in here if item not in own])
    items[:] = [item for item in items if item not in here or item in own]


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Create apps on embedded topics in a directory of the test.

    `KSTREAMS_TEST_ENGINE=embedded` runs them on the embedded engine, without a JVM, and
    `KSTREAMS_TEST_ENGINE=group-state` as operators of a streaming query.
    """
    engine = os.environ.get("KSTREAMS_TEST_ENGINE", "spark")
    made = Bench(tmp_path, None if engine == "embedded" else request.getfixturevalue("spark"))
    if engine == "group-state":
        made.engine["stage"] = engine
    yield made
    made.close()
