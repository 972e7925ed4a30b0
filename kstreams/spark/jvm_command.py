"""How a JVM of Spark's was started, noted with its archive of classes for the next start."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ("JvmCommand",)

_GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
_OF_ARCHIVES = ("-XX:DumpLoadedClassList=", "-XX:SharedArchiveFile=", "-Xlog:")


@dataclass(frozen=True)
class JvmCommand:
    """What Spark's launcher, a JVM of its own, found out: the options and the class path.

    Args:
        options: Of the JVM, those about archives of classes apart.
        class_path: All its jars, named one by one.
    """

    options: tuple[str, ...]
    class_path: str

    @classmethod
    def of(cls, jvm: Any) -> JvmCommand:  # noqa: ANN401  # py4j's
        """Return the command of a JVM that PySpark has started."""
        bean = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
        options = [str(each) for each in bean.getInputArguments()]
        kept = tuple(each for each in options if not each.startswith(_OF_ARCHIVES))
        return cls(kept, str(bean.getClassPath()))

    @classmethod
    def load(cls, path: Path) -> JvmCommand | None:
        """Return what is noted in a file; None where that cannot be read."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            options, class_path = found["options"], found["class_path"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        texts = isinstance(options, list) and all(isinstance(each, str) for each in options)
        if not texts or not isinstance(class_path, str):
            return None
        return cls(tuple(options), class_path)

    def as_text(self) -> str:
        """Return what `load` reads."""
        return json.dumps({"options": self.options, "class_path": self.class_path})

    def arguments(self, java: Path, *options: str) -> list[str]:
        """Return how the JVM that PySpark talks to is started, without Spark's launcher.

        Args:
            java: The program.
            options: More of the JVM's.
        """
        return [str(java), *self.options, *options, "-cp", self.class_path, _GATEWAY]
