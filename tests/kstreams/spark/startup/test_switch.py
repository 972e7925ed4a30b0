"""`spark.kstreams.startup`: one setting disables everything that shortens the start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kstreams.errors import CompileError
from kstreams.spark.startup.early_jvm import begin_jvm
from kstreams.spark.startup.switch import SETTING, is_plain_start

_RUN = """
from kstreams.spark.session import app_session
from pyspark.sql.types import NumpyArrayConverter

spark = app_session("plain", config={"spark.master": "local[1]", "spark.kstreams.startup": "plain"})
print(sorted(spark.sparkContext.parallelize([2, 1], 1).map(lambda n: n * n).collect()))
print(spark.conf.get("spark.python.daemon.module", "none"))
print(hasattr(NumpyArrayConverter.can_convert, "__wrapped__"))
options = spark.sparkContext.getConf().get("spark.driver.extraJavaOptions") or ""
print("SharedArchive" in options or "DumpLoadedClassList" in options)
spark.stop()
"""


def test_start_of_spark_is_fast_by_default_and_plain_on_request() -> None:
    assert not is_plain_start({})
    assert not is_plain_start({SETTING: "fast"})
    assert is_plain_start({SETTING: "plain"})
    assert begin_jvm({SETTING: "plain"}) is None


def test_unknown_value_of_startup_setting_is_rejected_with_the_known_values() -> None:
    with pytest.raises(CompileError, match="'slow'") as caught:
        is_plain_start({SETTING: "slow"})
    assert "fast, plain" in str(caught.value.hint)


@pytest.mark.spark
def test_plain_start_uses_no_archive_prefork_process_or_changed_converter(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RUN],
        capture_output=True,
        text=True,
        check=True,
        timeout=110,
        cwd=tmp_path,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.stdout.splitlines() == ["[1, 4]", "none", "False", "False"]
