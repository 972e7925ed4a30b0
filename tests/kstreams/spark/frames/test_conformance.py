"""Recorded results of Kafka Streams on DataFrames: one case of each operation."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tests.conformance
from kstreams.frames import Operator
from tests.conformance.test_joins import CASES as JOINS
from tests.conformance.test_joins import kind
from tests.support.conformance.case import Case, read_cases
from tests.support.conformance.fake_frames_engine import in_time, run_on_played_frames
from tests.support.conformance.frames_engine import run_on_frames
from tests.support.conformance.lane import Run
from tests.support.conformance.result_check import problem

DATA = Path(tests.conformance.__path__[0]) / "data"
CUTS = ("1", "3", "all")
OPERATORS: tuple[Operator, ...] = ("transform-with-state", "group-state")
WINDOWS = [case for case in read_cases(sorted(DATA.glob("*.jsonl"))) if not case.is_join]
KINDS: dict[str, list[Case]] = {}
for each in WINDOWS:
    KINDS.setdefault(f"{each.op}-{each.emit}", []).append(each)
for each in JOINS:
    KINDS.setdefault(kind(each), []).append(each)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS)
def test_sample_of_cases_passes_on_spark_fakes(cut: str) -> None:
    wrong = {}
    for number, cases in enumerate(KINDS.values()):
        case = in_time(cases[(5 * number) % len(cases)], cut, "records")
        operator = OPERATORS[number % 2]
        found = problem(case, run_on_played_frames(case, cut=cut, operator=operator), cut=cut)
        if found is not None:
            wrong[case.name] = found
    assert wrong == {}


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_sample_of_cases_gives_same_results_in_one_spark_query(spark: SparkSession) -> None:
    cut = "3"
    names = [name for name in KINDS if not name.startswith(("tt", "st", "fk"))]
    runs = [Run(in_time(KINDS[name][-1], cut, "records")) for name in names]
    answers = run_on_frames(runs, spark, cut=cut, operator="group-state")
    wrong = {
        run.case.name: found
        for run, answer in zip(runs, answers, strict=True)
        if (found := problem(run.case, answer, cut=cut))
    }
    assert wrong == {}
    assert any(answer.dropped for answer in answers)
