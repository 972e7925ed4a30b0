"""The Spark session an app runs on: the user's, or one made here that needs no setting up."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from kstreams.spark.java import java_home
from kstreams.spark.numpy_arguments import spare_imports

__all__ = ("app_session", "executor_cores", "is_local", "query_session")

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    # Over TCP the kernel holds back an acknowledgement for 40 ms, once or twice a task.
    "spark.python.unix.domain.socket.enabled": "true",
    # The JVM schedules, and sees no records: what its second compiler would gain is never earned
    # back, and it takes half a core from the workers in the first half minute.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}

_QUERY = {
    # The default one starts several processes (chmod, readlink) for each file it writes. A second
    # driver is kept away by the checkpoint's lock and the commit log.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing"
        ".FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.minBatchesToRetain": "10",
}


def app_session(app: str, *, config: Mapping[str, str]) -> SparkSession:
    """Return the running session, or make one.

    A session of the user's, or of `spark-submit`, is taken as it is. Otherwise Java is
    found (`kstreams.spark.java`) and Spark runs in this process on all cores, unless
    `config` or the environment say otherwise.

    Args:
        app: Name for Spark's own pages.
        config: Spark's settings for a session made here.
    """
    spare_imports()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    builder = SparkSession.builder.appName(app)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ["JAVA_HOME"] = str(java_home())
        builder = builder.master("local[*]")
        for name, value in _DEFAULTS.items():
            builder = builder.config(name, value)
    for name, value in config.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def query_session(session: SparkSession) -> SparkSession:
    """Return a session of the same context with the settings of one query."""
    own = session.newSession()
    for name, value in _QUERY.items():
        own.conf.set(name, value)
    return own


def is_local(session: SparkSession) -> bool:
    """Tell whether the executors are this very process."""
    master = session.sparkContext.master or ""
    return master == "local" or master.startswith("local[")


def executor_cores(session: SparkSession) -> int:
    """Return how many tasks one executor runs at the same time, or 1 where that is not set."""
    if is_local(session):
        return session.sparkContext.defaultParallelism
    return int(session.sparkContext.getConf().get("spark.executor.cores") or 1)
