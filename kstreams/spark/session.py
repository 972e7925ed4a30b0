"""The Spark session an app runs on: the user's, or one made here that needs no setting up."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from kstreams.errors import CompileError
from kstreams.quoting import text_of
from kstreams.spark.java import java_home
from kstreams.spark.numpy_arguments import spare_imports
from kstreams.state.backend.objects import ObjectStoreSettings

__all__ = (
    "app_session",
    "check_reached",
    "check_shared",
    "executor_cores",
    "is_local",
    "query_session",
)

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


def check_shared(session: SparkSession, checkpoint: Path) -> None:
    """Make sure that executors see the checkpoint directory that the driver sees.

    Raises:
        CompileError: They do not.
    """
    probe = checkpoint / f".probe-{uuid4().hex}"
    probe.write_text("")
    path = str(probe)

    def look(_: Iterable[int]) -> Iterable[bool]:
        yield Path(path).exists()

    try:
        width = session.sparkContext.defaultParallelism
        seen = session.sparkContext.parallelize(range(width), width).mapPartitions(look).collect()
    finally:
        probe.unlink()
    if not all(seen):
        raise CompileError(
            f"checkpoint {str(checkpoint)!r} is not on a file system that all executors share",
            hint="put it on a shared mount: App(..., checkpoint='/mnt/shared/...').",
        )


def check_reached(session: SparkSession, log: ObjectStoreSettings, prefix: str) -> None:
    """Make sure that executors reach the durable log that the driver has opened.

    Args:
        session: Theirs.
        log: The log.
        prefix: What names begin with that are there.

    Raises:
        CompileError: They do not; tells what one of them met.
    """

    def look(_: Iterable[int]) -> Iterable[str]:
        try:
            found = next(iter(log.open().list(prefix)), None)
        except Exception as exc:  # noqa: BLE001  # told on the driver
            yield f"{type(exc).__name__}: {text_of(exc)}"
        else:
            yield "" if found else f"nothing is there that begins with {prefix!r}"

    width = session.sparkContext.defaultParallelism
    met = session.sparkContext.parallelize(range(width), width).mapPartitions(look).collect()
    problem = next(filter(None, met), "")
    if problem:
        raise CompileError(
            f"an executor does not see the durable log that the driver sees, {log}: {problem}",
            hint="give all machines the same storage: its address, its credentials (best a role of "
            "the machines), and the package that speaks to it.",
        )
