"""Keep Spark's own log off the terminal: typed errors say what matters of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ("quiet_spark",)

_LEVEL = "spark.log.level"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LOG4J = """\
rootLogger.level = fatal
logger.spark.name = org.apache.spark
logger.spark.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss} %p Spark: %m%n%ex
"""


@contextmanager
def quiet_spark(config: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Give settings under which a Spark made here logs fatal errors only, from its first line.

    Args:
        config: The user's settings, which win: one with a log level is left as it is.
    """
    options = config.get(_JAVA_OPTIONS, "")
    if _LEVEL in config or "log4j" in options:
        yield dict(config)
        return
    with TemporaryDirectory(prefix="kstreams-log4j-") as folder:
        file = Path(folder) / "log4j2.properties"
        file.write_text(_LOG4J)
        flag = f"-Dlog4j2.configurationFile={file.as_uri()}"
        yield {**config, _LEVEL: "FATAL", _JAVA_OPTIONS: f"{options} {flag}".strip()}
