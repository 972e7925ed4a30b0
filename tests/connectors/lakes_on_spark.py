"""Reads tables of Delta and Iceberg with their libraries for Spark, and prints rows as JSON.

Run it by `python -m tests.connectors.lakes_on_spark DELTA CATALOG TABLE`, with a table's folder,
the file of an Iceberg catalog called `default`, and a table in it.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import DataFrame, SparkSession

from devtools.servers.ivy import Artifact, JarResolutionError, cache_folder, resolve
from devtools.spark_home import QUICK_JVMS

__all__ = ("NO_JARS",)

NO_JARS = 3
"""The exit status when the libraries are not available."""
_JARS = (
    Artifact("io.delta", "delta-spark_4.1_2.13", "4.1.0"),
    Artifact("io.delta", "delta-storage", "4.1.0"),
    Artifact("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.11.0"),
    Artifact("org.xerial", "sqlite-jdbc", "3.50.3.0"),
)


def _session(catalog: str) -> SparkSession:
    """Start Spark with the libraries."""
    try:
        jars = resolve(_JARS, cache_folder() / "lakes-4.1", transitive=False)
    except JarResolutionError as exc:
        print(exc, file=sys.stderr)  # noqa: T201  # why
        sys.exit(NO_JARS)
    settings = {
        **QUICK_JVMS,
        "spark.jars": ",".join(map(str, jars)),
        "spark.master": "local[2]",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.default": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.default.type": "jdbc",
        "spark.sql.catalog.default.uri": f"jdbc:sqlite:{catalog}",
        "spark.sql.catalog.default.warehouse": "/nowhere",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _rows(frame: DataFrame) -> list[str]:
    return sorted(frame.toJSON().collect())


if __name__ == "__main__":
    delta, catalog, table = sys.argv[1:]
    spark = _session(catalog)
    found = {
        "delta": _rows(spark.read.format("delta").load(delta)),
        "iceberg": _rows(spark.table(f"`default`.{table}")),
    }
    spark.stop()
    print(json.dumps(found))  # noqa: T201  # for the test
