"""Each part of a job runs on the worker of its number, job after job."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kstreams.spark.pinned_workers import PinnedWorkers
from kstreams.spark.session import executor_cores

pytestmark = pytest.mark.spark

PAUSES = ((0.0, 0.05), (0.05, 0.0), (0.0, 0.0))
"""Pauses of both workers; either one ends first."""


def worked(items: Iterable[tuple[int, float]]) -> Iterator[tuple[int, int]]:
    """Pause, and return item, worker and process."""
    for number, pause in items:
        time.sleep(pause)
        yield number, os.getpid()


def test_each_part_has_its_own_worker(spark: SparkSession) -> None:
    own = PinnedWorkers(spark.sparkContext)
    workers: dict[int, set[int]] = {}
    for first, second in PAUSES * 3:
        parts = {0: [(0, first)], 1: [(1, second)]}
        for number, pid in own.run(parts, worked, width=2).collect():
            workers.setdefault(number, set()).add(pid)
    assert {number: len(pids) for number, pids in workers.items()} == {0: 1, 1: 1}
    assert workers[0] != workers[1]
    for _ in range(3):
        alone = own.run({1: [(1, 0.0)]}, worked, width=2).collect()
        assert {pid for _, pid in alone} == workers[1]


def sent(items: Iterable[tuple[int, float]]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Send the results to three parts."""
    for number, pid in worked(items):
        yield from ((place, (number, pid)) for place in range(3))


def passed(pairs: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Return pairs to their origin, with the process that handled them."""
    for place, earlier in list(pairs):
        yield earlier[0], (place, os.getpid(), *earlier)


def test_later_stages_run_on_workers_of_same_numbers(spark: SparkSession) -> None:
    own = PinnedWorkers(spark.sparkContext)
    workers: dict[int, set[int]] = {}
    for first, second in PAUSES * 2:
        parts = {0: [(0, first)], 1: [(1, second)]}
        found = own.run(parts, sent, passed, passed, width=2).collect()
        assert len(found) == 6
        for _, (number, pid, place, other, _, made) in found:
            workers.setdefault(number, set()).add(pid)
            workers.setdefault(place % 2, set()).add(other)
            workers.setdefault(number, set()).add(made)
    assert {number: len(pids) for number, pids in workers.items()} == {0: 1, 1: 1}
    assert workers[0] != workers[1]
    alone = own.run({1: [(1, 0.0)]}, sent, passed, width=1).collect()
    assert [place for _, (place, *_) in alone] == [0, 1, 2]


def test_run_of_pinned_workers_leaves_environment_of_spark_context_unchanged(
    spark: SparkSession,
) -> None:
    before = dict(spark.sparkContext.environment)
    PinnedWorkers(spark.sparkContext).run({0: [(0, 0.0)]}, sent, passed, width=2)
    assert spark.sparkContext.environment == before


def test_local_session_has_all_cores_in_one_executor(spark: SparkSession) -> None:
    assert executor_cores(spark) == 2
