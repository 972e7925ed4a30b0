"""The Spark Connect program of `deploy/`, on a server of PySpark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from devtools.servers.s3 import ACCESS_KEY, SECRET_KEY, Bucket
from devtools.spark_home import QUICK_JVMS
from tests.support.deploy.deploying_page import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.timeout(600)]

SETTINGS = {
    **QUICK_JVMS,
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.log.level": "ERROR",
}
TWO_RUNS = """
import json, runpy, sys
from pyspark.sql import SparkSession

program, sys.argv = sys.argv[1], sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.sql("CREATE TABLE lines (line STRING) USING parquet")
for line in ("a b a", "b c"):
    spark.sql(f"INSERT INTO lines VALUES ('{line}')")
    runpy.run_path(program, run_name="__main__")
rows = spark.table("totals").collect()
print(json.dumps([type(spark).__module__, sorted([row.word, row.total] for row in rows)]))
"""


def test_connect_program_continues_from_the_state_of_its_last_run(
    tmp_path: Path, bucket: Bucket
) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    lines = (f"{name} {text}\n" for name, text in SETTINGS.items())
    (conf / "spark-defaults.conf").write_text("".join(lines))
    state = f"s3://{bucket.name}/{uuid.uuid4().hex}"
    program = ROOT / "deploy" / "word_count_frames.py"
    done = subprocess.run(
        [sys.executable, "-c", TWO_RUNS, program, "lines", "totals", state, tmp_path / "progress"],
        env={
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_REMOTE": "local[2]",
            "SPARK_CONF_DIR": str(conf),
            "AWS_ENDPOINT_URL": bucket.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_DEFAULT_REGION": "us-east-1",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    module, rows = json.loads(done.stdout.splitlines()[-1])
    assert module == "pyspark.sql.connect.session"
    assert rows == [["a", 2], ["b", 1], ["b", 2], ["c", 1]]
