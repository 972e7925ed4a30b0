"""The Spark Connect server of the tests: its sessions, its token."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from devtools.servers.spark_connect import SparkConnectServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_spark_connect_session_runs_python(connect: SparkSession) -> None:
    def doubled(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"n": [2 * n for n in batch.column("n").to_pylist()]})

    rows = connect.range(4).toDF("n").mapInArrow(doubled, "n long").collect()

    assert sorted(row["n"] for row in rows) == [0, 2, 4, 6]


def test_spark_connect_refuses_a_wrong_token(
    connect: SparkSession, connect_server: SparkConnectServer
) -> None:
    from pyspark.errors import PySparkException

    address, _, _ = connect_server.url.partition("token=")
    with pytest.raises(PySparkException, match="UNAUTHENTICATED"):
        type(connect).builder.remote(f"{address}token=guessed").create().range(1).collect()
