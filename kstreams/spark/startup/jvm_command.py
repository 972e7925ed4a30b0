"""The command line of the JVM for PySpark.

Spark's scripts start a separate JVM, the launcher, to compute the same command line.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from kstreams.spark.startup.java import SPARK_MODULE

__all__ = ("JvmCommand",)

_GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
_OPTIONS = "org/apache/spark/launcher/JavaModuleOptions.class"
"""The class of Spark's launcher whose constants are the options of every JVM."""

_CONSTANT = re.compile(rb"\x01\x00(.)((?:--|-D|-XX:)[!-~]+)", re.DOTALL)
"""A text constant in a class file: a tag, the length in two bytes, and the text."""

_NEEDED = "--add-opens=java.base/java.nio=ALL-UNNAMED"
_LAST = "-Dderby.connection.requireAuthentication=false"


@dataclass(frozen=True)
class JvmCommand:
    """The options and the class path that Spark's launcher computes in a separate JVM.

    Args:
        options: The options of the JVM, except the option for its memory.
        class_path: The class path of Spark.
    """

    options: tuple[str, ...]
    class_path: str

    @classmethod
    def of(cls, spark: Path) -> JvmCommand | None:
        """Return the command for a Spark; None if its launcher differs from the expected one.

        Args:
            spark: The folder of Spark.
        """
        jars = spark / "jars"
        launchers, first = [*jars.glob("spark-launcher_*.jar")], [*jars.glob("slf4j-api-*.jar")]
        try:
            with ZipFile(launchers[0]) as jar:
                data = jar.read(_OPTIONS)
        except (IndexError, KeyError, OSError, BadZipFile):
            return None
        found = [text.decode() for size, text in _CONSTANT.findall(data) if len(text) == size[0]]
        if _NEEDED not in found:
            return None
        path = (spark / "conf", *first, jars / "*")
        # A driver's JVM only schedules: it needs no vectors, and warns of their module.
        options = [option for option in found if option != SPARK_MODULE]
        return cls((*options, _LAST), os.pathsep.join(map(str, path)))

    def arguments(self, java: Path, *options: str) -> list[str]:
        """Return the command line of the JVM for PySpark.

        Args:
            java: The path of the `java` program.
            options: Additional options of the JVM, before those of Spark.
        """
        return [str(java), "-cp", self.class_path, *options, *self.options, _GATEWAY]
