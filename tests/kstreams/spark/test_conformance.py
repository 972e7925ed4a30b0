"""Recorded results of Kafka Streams on Spark: one case of each operation, emission and join."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tests.conformance
from kstreams.processors.columns import Execution
from tests.conformance.test_joins import BY_COLUMNS, CASES, kind
from tests.support.conformance.case import Case, read_cases
from tests.support.conformance.result_check import problem
from tests.support.conformance.spark_engine import Run, run_on_spark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

DATA = Path(tests.conformance.__path__[0]) / "data"


def execution_of(case: Case) -> Execution:
    """Choose an execution so that few queries cover both."""
    records = case.emit == "suppress" or case.op in ("tumbling", "session")
    return "records" if records else "columns"


def test_sample_of_cases_gives_same_results_on_spark(spark: SparkSession) -> None:
    cases = [case for case in read_cases(sorted(DATA.glob("*.jsonl"))) if not case.is_join]
    kinds = {(case.op, case.emit): case for case in cases}
    assert len(kinds) == 12
    runs = [Run(case, execution_of(case)) for case in kinds.values()]
    answers = run_on_spark(runs, spark, cut="3")
    wrong = {
        (run.case.name, run.execution): found
        for run, answer in zip(runs, answers, strict=True)
        if (found := problem(run.case, answer, cut="3"))
    }
    assert wrong == {}
    assert any(answer.dropped for answer in answers)


def test_sample_of_joins_gives_same_results_on_spark(spark: SparkSession) -> None:
    cases = {kind(case): case for case in CASES}
    runs = [Run(case) for case in cases.values()]
    runs += [Run(cases[wanted], "columns") for wanted in BY_COLUMNS]
    answers = run_on_spark(runs, spark, cut="3")
    wrong = {
        run.case.name: found
        for run, answer in zip(runs, answers, strict=True)
        if (found := problem(run.case, answer, cut="3"))
    }
    assert wrong == {}
