"""The Spark session of an app: the user's, or a new session with suitable settings."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import partial

from pyspark.sql import SparkSession

from kstreams.spark.startup.early_jvm import EarlyJvm
from kstreams.spark.startup.java import java_home
from kstreams.spark.startup.jvm import on_quick_jvm
from kstreams.spark.startup.numpy_arguments import spare_imports
from kstreams.spark.startup.session_settings import session_settings
from kstreams.spark.startup.switch import is_plain_start
from kstreams.spark.startup.worker_prefork import prefork_settings

__all__ = ("app_session", "is_local", "task_attempts")

_ATTEMPTS = 4
"""Spark's default of `spark.task.maxFailures`."""


def app_session(
    app: str, *, config: Mapping[str, str], early: EarlyJvm | None = None
) -> SparkSession:
    """Return the running session, or create one.

    A session of the user or of `spark-submit` is used unchanged. Otherwise Java is found
    (`kstreams.spark.startup.java`) and Spark runs in this process on all cores, unless `config` or
    the environment change that.

    Args:
        app: The name for Spark's web pages.
        config: Spark settings for a new session.
        early: The JVM that was already started for the session; None without one.

    Raises:
        CompileError: `spark.kstreams.startup` has an unknown value.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if not is_plain_start(config):
        spare_imports()
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return _made(app, config)
    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    settings = session_settings(config)
    if is_plain_start(config):
        return _made(app, settings)
    settings |= prefork_settings(settings)
    return on_quick_jvm(settings, home, partial(_made, app), early)


def _made(app: str, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName(app)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def is_local(session: SparkSession) -> bool:
    """Return whether Spark runs in local mode, so that driver and executor are one JVM."""
    master = session.sparkContext.master or ""
    return master == "local" or master.startswith("local[")


def task_attempts(session: SparkSession) -> int:
    """Return the number of attempts at a task that a session allows."""
    context = session.sparkContext
    if is_local(session):
        found = re.fullmatch(r"local\[[^,]+,\s*(\d+)\s*\]", context.master or "")
        return 1 if found is None else int(found[1])
    return int(context.getConf().get("spark.task.maxFailures") or _ATTEMPTS)
