"""`spark-submit` commands of docs/deploying.md are valid, and so are the settings in `deploy/`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.support.deploy.deploying_page import exported, submitted
from tests.support.deploy.manifests import settings

pytestmark = pytest.mark.spark

CONFIGS = (
    "org.apache.spark.internal.config.package$",
    "org.apache.spark.internal.config.Python$",
    "org.apache.spark.deploy.k8s.Config$",
    "org.apache.spark.deploy.yarn.config.package$",
)
"""Spark's objects that register their settings when they are loaded."""
VARIABLES = ("spark.executorEnv.", "spark.yarn.appMasterEnv.", "spark.emr-serverless.driverEnv.")
"""Prefixes of settings that name environment variables."""
NO_ENTRIES = ("spark.master", "spark.app.name")


@pytest.mark.parametrize("words", submitted(), ids=lambda words: words[-1] or "cluster mode")
def test_documented_command_is_parsed(spark: SparkSession, words: list[str]) -> None:
    parsed = parse(spark, words)
    assert parsed.primaryResource().endswith(("word_count.py", ".jar"))
    names = parsed.sparkProperties().keys().mkString("\n").splitlines()
    assert unknown(spark, names) == []


def test_unknown_options_and_settings_are_detected(spark: SparkSession) -> None:
    with pytest.raises(Py4JJavaError, match="Unrecognized option '--archive'"):
        parse(spark, ["--archive", "env.tar.gz", "word_count.py"])
    assert unknown(spark, ["spark.task.maxFailure"]) == ["spark.task.maxFailure"]


def test_settings_of_pods_are_known_to_spark(spark: SparkSession) -> None:
    assert unknown(spark, settings()) == []


def parse(spark: SparkSession, words: list[str]) -> Any:
    """Return the arguments of `spark-submit` as parsed by Spark."""
    jvm: Any = spark.sparkContext._jvm
    helper = jvm.PythonUtils
    return jvm.org.apache.spark.deploy.SparkSubmitArguments(
        helper.toSeq(words), helper.toScalaMap(exported())
    )


def unknown(spark: SparkSession, names: Iterable[str]) -> list[str]:
    """Return the names that are no settings of Spark."""
    jvm: Any = spark.sparkContext._jvm
    for each in CONFIGS:
        jvm.java.lang.Class.forName(each)
    entries = jvm.org.apache.spark.internal.config.ConfigEntry
    return [
        name
        for name in names
        if name not in ("", *NO_ENTRIES)
        and not name.startswith(VARIABLES)
        and entries.findEntry(name) is None
    ]
