"""What a reused Python worker keeps on its import path."""

from __future__ import annotations

import importlib
import sys
import zipimport
from collections.abc import Iterable, Iterator

import pytest
from pyspark.sql import SparkSession

from kstreams.spark.worker import drop_spark_archives

pytestmark = pytest.mark.spark


def _importers_left(_: Iterable[int]) -> Iterator[str]:
    drop_spark_archives()
    importlib.import_module("pyspark.sql.plot")  # which nothing has imported before
    drop_spark_archives()
    for entry, importer in sys.path_importer_cache.items():
        if isinstance(importer, zipimport.zipimporter):
            yield entry


def test_no_archive_is_left_to_be_read_at_each_task(spark: SparkSession) -> None:
    found = spark.sparkContext.parallelize([1], 1).mapPartitions(_importers_left).collect()
    assert found == []
