"""Spark's settings for a session made here, known before PySpark is imported."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ("MEMORY", "OPTIONS", "jvm_options", "session_settings")

OPTIONS = "spark.driver.extraJavaOptions"
"""The setting with the JVM's options; a user's takes the place of ours."""

MEMORY = "1g"
"""Heap of a JVM that schedules, and sees no records."""

# What its second compiler would gain is never earned back, and it takes half a core from the
# workers in the first half minute.
_ONE_COMPILER = "-XX:TieredStopAtLevel=1"
_SMALL_HEAP = "-XX:+UseSerialGC -Xmn56m"
"""A heap this small is collected in milliseconds, and G1's threads and tables cost more. By default
its young part is a share of the machine's memory, and all of it is touched before it is collected:
over 100 MB that no batch needs. Less than this costs speed."""

_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": MEMORY,
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    # Over TCP the kernel holds back an acknowledgement for 40 ms, once or twice a task.
    "spark.python.unix.domain.socket.enabled": "true",
}


def session_settings(config: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session made here: the user's, and ours where there are none."""
    return {**_DEFAULTS, **config}


def jvm_options(settings: Mapping[str, str]) -> str:
    """Return the options of a driver's JVM which is to do little but schedule."""
    small = settings.get("spark.driver.memory") == MEMORY
    return f"{_ONE_COMPILER} {_SMALL_HEAP}" if small else _ONE_COMPILER
