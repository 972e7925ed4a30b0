"""Starts the JVM of a new session before PySpark is imported, without Spark's scripts."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kstreams.spark.startup.class_archive import ClassArchive, class_archive
from kstreams.spark.startup.java import java_home
from kstreams.spark.startup.jvm_command import JvmCommand
from kstreams.spark.startup.session_settings import MEMORY, jvm_options, session_settings
from kstreams.spark.startup.spark_home import spark_home
from kstreams.spark.startup.switch import is_plain_start

__all__ = ("EarlyJvm", "begin_jvm", "is_plain")

_LOG = logging.getLogger(__name__)
_LOCK = threading.Lock()
_POLL_SECONDS = 0.005
_END_SECONDS = 10
_NAME = "connection"
_NOT_THE_JVMS = (
    "spark.app.name",
    "spark.default.parallelism",
    "spark.executor.",
    "spark.executorEnv.",
    "spark.hadoop.",
    "spark.kstreams.",
    "spark.local.dir",
    "spark.log.",
    "spark.master",
    "spark.python.",
    "spark.scheduler.",
    "spark.sql.",
    "spark.task.",
    "spark.ui.",
)
"""Settings that take effect in the Spark context, and do not affect the start of its JVM."""
_ALLOWED = ("SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_HOSTNAME", "SPARK_USER")
_OF_LAUNCHERS = (
    "HADOOP_CONF_DIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "YARN_CONF_DIR",
    "_JAVA_OPTIONS",
)


def is_plain(settings: Mapping[str, str]) -> bool:
    """Return whether no setting or file of Spark's scripts changes the start of the JVM."""
    master = settings.get("spark.master", "")
    own = [
        name
        for name, value in settings.items()
        if not name.startswith(_NOT_THE_JVMS) and (name, value) != ("spark.driver.memory", MEMORY)
    ]
    told = [
        name
        for name in os.environ
        if name in _OF_LAUNCHERS or (name.startswith("SPARK_") and name not in _ALLOWED)
    ]
    local = master == "local" or master.startswith("local[")
    home = spark_home()
    defaults = home is None or (home / "conf").exists()
    return os.name == "posix" and local and not (own or told or defaults)


@dataclass
class EarlyJvm:
    """A starting JVM that PySpark will use.

    Args:
        process: The process of the JVM.
        folder: The folder in which the JVM writes its port; removed afterward.
        archive: The class archive for this Java and Spark; None if class archives are not used.
        noting: The file in which the JVM lists its loaded classes; None if the JVM uses an archive.
        is_used: Whether PySpark uses the JVM.
    """

    process: subprocess.Popen[bytes] = field(repr=False)
    folder: Path
    archive: ClassArchive | None
    noting: Path | None
    is_used: bool = False

    def connect(self) -> bool:
        """Wait for the JVM and connect PySpark to it, unless PySpark has a JVM already.

        Returns:
            Whether PySpark has a JVM; False if this JVM has ended, for example because it rejects
            the archive. The archive or the class list is then not used again.
        """
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415  # see `begin_jvm`

        from kstreams.spark.startup.private_names import (  # noqa: PLC0415  # as above
            current_gateway,
            use_gateway,
        )

        told = self._awaited()
        if told is None:
            self.end()
            if self.archive is not None:
                self.archive.forget()
            return False
        with _LOCK:
            if current_gateway() is not None:
                self.end()
                return True
            port, secret = told
            os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
            os.environ["PYSPARK_GATEWAY_SECRET"] = secret
            try:
                gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]  # PySpark's
            finally:
                del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
            gateway.proc = self.process  # it exits when this process closes its input
            use_gateway(gateway)
            self.is_used = True
        return True

    def _awaited(self) -> tuple[int, str] | None:
        """Return the port and the secret of the JVM, or None if it has ended."""
        path = self.folder / _NAME
        try:
            while not path.exists():
                if self.process.poll() is not None:
                    _LOG.warning("Java has ended with %s at its start", self.process.returncode)
                    return None
                time.sleep(_POLL_SECONDS)
            told = path.read_bytes()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        size = int.from_bytes(told[4:8], "big")
        return int.from_bytes(told[:4], "big"), told[8 : 8 + size].decode()

    def end(self) -> None:
        """End the JVM, unless PySpark uses it."""
        if self.is_used:
            return
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.noting is not None:
            self.noting.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def begin_jvm(config: Mapping[str, str]) -> EarlyJvm | None:
    """Start the JVM of the next session, as Spark's scripts would, before PySpark is imported.

    Returns None if Spark's scripts must start it, because a setting or a file changes the JVM, or
    if PySpark has a JVM already.

    Args:
        config: The user's Spark settings.

    Raises:
        JavaNotFoundError: No Java that Spark can run on was found.
        CompileError: `spark.kstreams.startup` has an unknown value.
    """
    if is_plain_start(config):
        return None
    settings, spark = session_settings(config), spark_home()
    if spark is None or not is_plain(settings) or _pyspark_has_one():
        return None
    home, command = java_home(), JvmCommand.of(spark)
    if command is None:
        return None
    archive, noting = class_archive(home), None
    options = f"-Xmx{MEMORY} {jvm_options(settings)}"
    if archive is not None and archive.is_there():
        options = f"{options} {archive.use()}"
    elif archive is not None:
        more, noting = archive.record()
        options = f"{options} {more}"
    folder = Path(tempfile.mkdtemp(prefix="kstreams-jvm-"))
    try:
        process = subprocess.Popen(  # noqa: S603  # the Java that was found
            command.arguments(home / "bin" / "java", *options.split()),
            stdin=subprocess.PIPE,
            env={
                **os.environ,
                "JAVA_HOME": str(home),
                "PYTHONHASHSEED": "0",  # as Spark's script has it
                "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / _NAME),
            },
            preexec_fn=_leave_interrupts,  # noqa: PLW1509  # as PySpark does
        )
    except OSError as exc:
        _LOG.info("Java is left to PySpark: %s", exc)
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return EarlyJvm(process, folder, archive, noting)


def _leave_interrupts() -> None:
    """Ignore SIGINT in the JVM, so that Python handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _pyspark_has_one() -> bool:
    if "pyspark" not in sys.modules:
        return False
    from kstreams.spark.startup.private_names import current_gateway  # noqa: PLC0415  # as above

    return current_gateway() is not None
