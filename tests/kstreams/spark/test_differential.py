"""Spark gives the same results as the test driver, record by record, for generated topologies."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, settings
from pyspark.sql import SparkSession

from tests.kstreams.spark.generated_case import has_wall_clock_work, run_on_spark
from tests.support.generated.case import Case, Result
from tests.support.generated.driver_run import run_on_driver
from tests.support.generated.join_topologies import join_cases
from tests.support.generated.topologies import cases
from tests.support.spark.bench import Bench

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1_800)]

_EXAMPLES = int(os.environ.get("KSTREAMS_SPARK_EXAMPLES", "25"))
_JOINS = int(os.environ.get("KSTREAMS_SPARK_JOIN_EXAMPLES", "8"))


@pytest.fixture(scope="module")
def homes() -> Iterator[Path]:
    """Return a directory in memory if there is one, because hundreds of small files are synced."""
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else None
    home = Path(tempfile.mkdtemp(prefix="kstreams-differential-", dir=parent))
    yield home
    shutil.rmtree(home)


def comparable(result: Result) -> object:
    stores = {name: contents for name, contents in result.stores.items() if contents}
    return result.by_task(), stores, result.dropped, result.nodes


@given(case=cases())
@settings(
    max_examples=_EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # a run takes seconds, so a failing example is shown and not shrunk
    suppress_health_check=list(HealthCheck),
)
def test_generated_topologies_give_same_results_on_spark_and_test_driver(
    spark: SparkSession, homes: Path, case: Case
) -> None:
    several = len(case.plan.topology().pipelines()) > 1
    # the test driver calls only queries with input
    assume(not (several and has_wall_clock_work(case)))
    note(case.describe())
    bench = Bench(Path(tempfile.mkdtemp(dir=homes)), spark)
    try:
        found = run_on_spark(case, bench)
        batches = len({(report.query, report.batch) for report in bench.reports})
    finally:
        bench.close()
    assert comparable(found) == comparable(run_on_driver(case))
    waits = has_wall_clock_work(case)
    assert batches <= (len(case.batches) + waits) * len(case.plan.topology().pipelines())


@given(case=join_cases(most_steps=6))
@settings(
    max_examples=_JOINS,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_generated_joins_give_same_results_on_spark_and_test_driver(
    spark: SparkSession, homes: Path, case: Case
) -> None:
    note(case.describe())
    bench = Bench(Path(tempfile.mkdtemp(dir=homes)), spark)
    try:
        found = run_on_spark(case, bench)
    finally:
        bench.close()
    assert comparable(found) == comparable(run_on_driver(case))
