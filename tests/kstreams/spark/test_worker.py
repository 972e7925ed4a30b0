"""Import path and garbage of a reused Python worker."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import weakref
import zipimport
from collections.abc import Iterable, Iterator

import pytest
from pyspark.sql import SparkSession

from kstreams.spark.worker import drop_spark_archives, shorten_collections

pytestmark = pytest.mark.spark


def _importers_left(_: Iterable[int]) -> Iterator[str]:
    drop_spark_archives()
    importlib.import_module("pyspark.sql.plot")  # not imported before
    drop_spark_archives()
    for entry, importer in sys.path_importer_cache.items():
        if isinstance(importer, zipimport.zipimporter):
            yield entry


def test_reused_worker_has_no_stale_zip_importers(spark: SparkSession) -> None:
    found = spark.sparkContext.parallelize([1], 1).mapPartitions(_importers_left).collect()
    assert found == []


class _Cycle:
    """Garbage that only a collector finds."""

    def __init__(self) -> None:
        self.itself = self


def _left_in_cycles(given: Iterable[int]) -> Iterator[tuple[bool, bool]]:
    """Return whether an earlier task ran in this worker, and whether its cycle still exists."""
    list(given)  # a worker that has not read all of its input is not reused
    shorten_collections()
    before = getattr(importlib, "_cycle_of_a_task", None)
    yield before is not None, before is not None and before() is not None
    importlib._cycle_of_a_task = weakref.ref(_Cycle())  # type: ignore[attr-defined]  # this worker's


def test_reference_cycles_of_task_are_collected_before_next_task(spark: SparkSession) -> None:
    one = spark.sparkContext.parallelize([1], 1)
    found = [one.mapPartitions(_left_in_cycles).collect()[0] for _ in range(8)]
    assert any(was_here for was_here, _ in found), "no worker was used again"
    assert not any(is_still_there for _, is_still_there in found)


def _collections(given: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Return the worker's process and its number of full collections."""
    list(given)
    shorten_collections()
    yield os.getpid(), gc.get_stats()[2]["collections"]


def test_reused_worker_runs_no_full_garbage_collection_after_each_task(spark: SparkSession) -> None:
    one = spark.sparkContext.parallelize([1], 1)
    found = [one.mapPartitions(_collections).collect()[0] for _ in range(8)]
    for worker in {worker for worker, _ in found}:
        counts = [count for each, count in found if each == worker]
        assert counts[-1] - counts[0] <= len(counts) // 2, "a full collection after each task"
