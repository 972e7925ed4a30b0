"""A part of a job comes to the worker of its number, job after job."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from operator import itemgetter

import pytest
from pyspark.sql import SparkSession

from kstreams.spark.pinned_workers import PinnedWorkers
from kstreams.spark.session import executor_cores

pytestmark = pytest.mark.spark

PAUSES = ((0.0, 0.05), (0.05, 0.0), (0.0, 0.0))
"""Whichever ends first."""


def worked(items: Iterable[tuple[int, float]]) -> Iterator[tuple[int, int]]:
    """Take some time; tell who did it."""
    for number, pause in items:
        time.sleep(pause)
        yield number, os.getpid()


def test_each_part_has_a_worker_of_its_own(spark: SparkSession) -> None:
    own = PinnedWorkers(spark.sparkContext)
    workers: dict[int, set[int]] = {}
    for first, second in PAUSES * 3:
        parts = {0: [(0, first)], 1: [(1, second)]}
        for number, pid in own.mapped(parts, worked).collect():
            workers.setdefault(number, set()).add(pid)
    assert {number: len(pids) for number, pids in workers.items()} == {0: 1, 1: 1}
    assert workers[0] != workers[1]
    for _ in range(3):
        alone = own.mapped({1: [(1, 0.0)]}, worked).collect()
        assert {pid for _, pid in alone} == workers[1]


def sent(items: Iterable[tuple[int, float]]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Send what was done to three places."""
    for number, pid in worked(items):
        yield from ((place, (number, pid)) for place in range(3))


def test_pairs_go_where_they_say_from_the_worker_of_their_part(spark: SparkSession) -> None:
    own = PinnedWorkers(spark.sparkContext)
    workers: dict[int, set[int]] = {}
    for first, second in PAUSES:
        parts = {0: [(0, first)], 1: [(1, second)]}
        places = own.shuffled(parts, sent, 2).glom().collect()
        assert [sorted((at, number) for at, (number, _) in place) for place in places] == [
            [(0, 0), (0, 1), (2, 0), (2, 1)],
            [(1, 0), (1, 1)],
        ]
        for _, (number, pid) in (pair for place in places for pair in place):
            workers.setdefault(number, set()).add(pid)
    assert {number: len(pids) for number, pids in workers.items()} == {0: 1, 1: 1}
    assert own.shuffled({1: [(1, 0.0)]}, sent, 1).map(itemgetter(0)).collect() == [0, 1, 2]


def test_nothing_is_left_in_the_context(spark: SparkSession) -> None:
    before = dict(spark.sparkContext.environment)
    PinnedWorkers(spark.sparkContext).mapped({0: [(0, 0.0)]}, worked)
    assert spark.sparkContext.environment == before


def test_a_local_session_has_all_cores_in_one_executor(spark: SparkSession) -> None:
    assert executor_cores(spark) == 2
