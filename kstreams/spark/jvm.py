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
from kstreams.spark.early_jvm import EarlyJvm
from kstreams.spark.session_settings import OPTIONS, jvm_options

__all__ = ("on_quick_jvm",)

_LOG = logging.getLogger(__name__)

_Make = Callable[[Mapping[str, str]], SparkSession]


def on_quick_jvm(
    settings: Mapping[str, str], java_home: Path, make: _Make, early: EarlyJvm | None = None
) -> SparkSession:
    """Make a session whose JVM starts as quickly as it can on this machine.

    On the JVM that was begun early, else on one that PySpark starts: with an archive of Spark's
    classes where there is one. Where there is none, the JVM notes its classes, and one is made
    when this process has ended. A JVM that does not start with what is there is started without
    it.

    Args:
        settings: Of the session; options of the JVM in them are left as they are.
        java_home: What it runs on.
        make: Makes a session with settings.
        early: The JVM that was begun early.
    """
    if early is not None and early.connect():
        if early.noting is not None and early.archive is not None:
            _make_at_exit(early.archive, early.noting)
        return make(settings)
    if OPTIONS in settings or SparkContext._gateway is not None:  # a JVM runs already
        return make(settings)
    options = jvm_options(settings)
    archive = class_archive(java_home)
    if archive is None:
        return make({**settings, OPTIONS: options})
    if not archive.is_there():
        noting, classes = archive.record()
        session = make({**settings, OPTIONS: f"{options} {noting}"})
        _make_at_exit(archive, classes)
        return session
    try:
        return make({**settings, OPTIONS: f"{options} {archive.use()}"})
    except PySparkRuntimeError as exc:
        if exc.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        _LOG.warning("Java does not start with %s: it is removed", archive.path)
        archive.forget()
        return make({**settings, OPTIONS: options})


def _make_at_exit(archive: ClassArchive, classes: Path) -> None:
    process = getattr(SparkContext._gateway, "proc", None)
    jvm: Any = SparkContext._jvm
    if process is None or jvm is None:
        return
    class_path = str(jvm.java.lang.System.getProperty("java.class.path"))
    atexit.register(begin, archive, classes, class_path, process.pid)
