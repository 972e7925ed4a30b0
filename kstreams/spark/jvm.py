"""The JVM of a driver that is made here: its options, and what makes its next start quicker."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from kstreams.spark.archive_maker import begin
from kstreams.spark.class_archive import ClassArchive, class_archive

__all__ = ("MEMORY", "OPTIONS", "on_quick_jvm")

_LOG = logging.getLogger(__name__)
OPTIONS = "spark.driver.extraJavaOptions"
"""The setting with the JVM's options; a user's takes the place of ours."""

MEMORY = "1g"
"""Heap of a JVM that schedules, and sees no records."""

# What its second compiler would gain is never earned back, and it takes half a core from the
# workers in the first half minute.
_ONE_COMPILER = "-XX:TieredStopAtLevel=1"
_SMALL_HEAP = "-XX:+UseSerialGC"
"""A heap this small is collected in milliseconds, and G1's threads and tables cost more."""


def on_quick_jvm(
    settings: Mapping[str, str], java_home: Path, make: Callable[[Mapping[str, str]], SparkSession]
) -> SparkSession:
    """Make a session whose JVM starts as quickly as it can on this machine.

    With an archive of Spark's classes where there is one. Where there is none, the JVM notes its
    classes, and one is made when this process has ended. A JVM that does not start with what is
    there is started without it.

    Args:
        settings: Of the session; options of the JVM in them are left as they are.
        java_home: What it runs on.
        make: Makes a session with settings.
    """
    if OPTIONS in settings or SparkContext._gateway is not None:  # a JVM runs already
        return make(settings)
    options = _ONE_COMPILER
    if settings.get("spark.driver.memory") == MEMORY:
        options = f"{options} {_SMALL_HEAP}"
    archive = class_archive(java_home)
    if archive is None:
        return make({**settings, OPTIONS: options})
    if not archive.is_there():
        noting, classes = archive.record()
        session = make({**settings, OPTIONS: f"{options} {noting}"})
        _make_at_exit(archive, classes, session)
        return session
    try:
        return make({**settings, OPTIONS: f"{options} {archive.use()}"})
    except PySparkRuntimeError as exc:
        if exc.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        _LOG.warning("Java does not start with %s: it is removed", archive.path)
        archive.path.unlink(missing_ok=True)
        return make({**settings, OPTIONS: options})


def _make_at_exit(archive: ClassArchive, classes: Path, session: SparkSession) -> None:
    jvm: Any = session._jvm
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None or jvm is None:
        return
    class_path = str(jvm.java.lang.System.getProperty("java.class.path"))
    atexit.register(begin, archive, classes, class_path, process.pid)
