"""Spark's settings for a new session, known before PySpark is imported."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ("MEMORY", "OPTIONS", "jvm_options", "session_settings")

OPTIONS = "spark.driver.extraJavaOptions"
"""The setting with the JVM options; a user's value replaces the default."""

MEMORY = "1g"
"""The heap of the driver's JVM, which only schedules and handles no records."""

# The second compiler never pays off, and it takes half a core from the
# workers in the first half minute.
_ONE_COMPILER = "-XX:TieredStopAtLevel=1"
_SMALL_HEAP = "-XX:+UseSerialGC -Xmn56m"
"""The serial collector and a 56 MB young generation. A small heap is collected in milliseconds, and
G1 needs more threads and memory. By default the young generation is a share of the machine's
memory, over 100 MB that no batch needs. A smaller young generation is slower."""

_LOG_LEVEL = "spark.log.level"
_OFF = "FATAL"
_LOG4J = Path(__file__).with_name("quiet_log4j2.properties")
_LOG_OPTION = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"
"""The option that disables Spark's log until Spark has read the log level."""

_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": MEMORY,
    "spark.sql.session.timeZone": "UTC",
    # Over TCP the kernel holds back an acknowledgement for 40 ms, once or twice a task.
    "spark.python.unix.domain.socket.enabled": "true",
}


def session_settings(config: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new session: the user's, with defaults for missing settings.

    Spark's log is off unless the user has set it up. An error of Spark fails the app, which
    raises it; Spark's log would repeat it with a hundred lines of Java.
    """
    settings = {**_DEFAULTS, **config}
    given = (config.get(OPTIONS, ""), os.environ.get("SPARK_SUBMIT_OPTS", ""))
    if _LOG_LEVEL in config or any("log4j" in options for options in given):
        return settings
    settings[_LOG_LEVEL] = _OFF
    if OPTIONS in config:
        settings[OPTIONS] = f"{config[OPTIONS]} {_LOG_OPTION}".strip()
    return settings


def jvm_options(settings: Mapping[str, str]) -> str:
    """Return the options of a driver's JVM, which does little more than scheduling."""
    heap = (_SMALL_HEAP,) if settings.get("spark.driver.memory") == MEMORY else ()
    log = (_LOG_OPTION,) if settings.get(_LOG_LEVEL) == _OFF else ()
    return " ".join((_ONE_COMPILER, *heap, *log))
