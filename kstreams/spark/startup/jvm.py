"""Creates a session on a JVM that starts fast: with suitable options and a class archive."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from kstreams.spark.startup.archive_maker import begin
from kstreams.spark.startup.class_archive import ClassArchive, class_archive
from kstreams.spark.startup.early_jvm import EarlyJvm
from kstreams.spark.startup.private_names import class_path, current_gateway
from kstreams.spark.startup.session_settings import OPTIONS, jvm_options

__all__ = ("on_quick_jvm",)

_LOG = logging.getLogger(__name__)

_Make = Callable[[Mapping[str, str]], SparkSession]


def on_quick_jvm(
    settings: Mapping[str, str], java_home: Path, make: _Make, early: EarlyJvm | None = None
) -> SparkSession:
    """Create a session on a JVM that starts as fast as possible on this machine.

    The session uses the JVM that was started early, or one that PySpark starts, with an archive of
    Spark's classes if there is one. Without an archive, the JVM records its classes, and the
    archive is created when this process has ended. If a JVM does not start with the archive, it is
    started without.

    Args:
        settings: The settings of the session; JVM options in them stay unchanged.
        java_home: The Java folder.
        make: Creates a session with settings.
        early: The JVM that was started early.
    """
    if early is not None and early.connect():
        if early.noting is not None and early.archive is not None:
            _make_at_exit(early.archive, early.noting)
        return make(settings)
    if OPTIONS in settings or current_gateway() is not None:  # a JVM runs already
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
    process = getattr(current_gateway(), "proc", None)
    if process is not None:
        atexit.register(begin, archive, classes, class_path(), process.pid)
