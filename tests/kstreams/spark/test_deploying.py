"""Spark takes the `spark-submit` of docs/deploying.md, and knows each setting of `deploy/`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.deploy.manifests import settings
from tests.deploy.page import exported, submitted

pytestmark = pytest.mark.spark

CONFIGS = (
    "org.apache.spark.internal.config.package$",
    "org.apache.spark.internal.config.Python$",
    "org.apache.spark.deploy.k8s.Config$",
    "org.apache.spark.deploy.yarn.config.package$",
)
"""Objects of Spark's that make its settings' entries when they are loaded."""
VARIABLES = ("spark.executorEnv.", "spark.yarn.appMasterEnv.", "spark.emr-serverless.driverEnv.")
"""What begins so names a variable."""
NO_ENTRIES = ("spark.master", "spark.app.name")


@pytest.mark.parametrize("words", submitted(), ids=lambda words: words[-1] or "cluster mode")
def test_a_command_is_parsed(spark: SparkSession, words: list[str]) -> None:
    parsed = parse(spark, words)
    assert parsed.primaryResource().endswith(("word_count.py", ".jar"))
    names = parsed.sparkProperties().keys().mkString("\n").splitlines()
    assert unknown(spark, names) == []


def test_what_is_no_option_or_setting_is_found(spark: SparkSession) -> None:
    with pytest.raises(Py4JJavaError, match="Unrecognized option '--archive'"):
        parse(spark, ["--archive", "env.tar.gz", "word_count.py"])
    assert unknown(spark, ["spark.task.maxFailure"]) == ["spark.task.maxFailure"]


def test_the_settings_of_the_pods_are_sparks(spark: SparkSession) -> None:
    assert unknown(spark, settings()) == []


def parse(spark: SparkSession, words: list[str]) -> Any:
    """Return what Spark makes of arguments of `spark-submit`."""
    jvm: Any = spark.sparkContext._jvm
    helper = jvm.PythonUtils
    return jvm.org.apache.spark.deploy.SparkSubmitArguments(
        helper.toSeq(words), helper.toScalaMap(exported())
    )


def unknown(spark: SparkSession, names: Iterable[str]) -> list[str]:
    """Return which names are no setting of Spark's."""
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
