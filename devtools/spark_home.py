"""Settings for Spark processes of tests: a separate folder, and JVMs that start fast."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from devtools.spark_classes import archive
from kstreams.spark.startup.class_archive import SILENT_USE

__all__ = ("LOCAL_CLUSTER", "QUICK_JAVA", "QUICK_JVMS", "spark_home")

LOCAL_CLUSTER = "local-cluster[2,1,1024]"

_ONE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_LOADED_CLASSES = f"-XX:SharedArchiveFile={found}" if (found := archive()) else "-Xshare:auto"
QUICK_JAVA = " ".join((_ONE_COMPILER, _LOADED_CLASSES, *SILENT_USE))
"""Options for short runs, which benefit more from a fast start than from a good compiler."""

QUICK_JVMS = {
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.ui.enabled": "false",
}


def spark_home(folder: Path) -> Path:
    """Return a SPARK_HOME with pyspark's content; executors put their folders there instead."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = folder / "spark"
    home.mkdir()
    for entry in Path(spec.origin).parent.iterdir():
        if entry.name not in ("work", "logs"):
            (home / entry.name).symlink_to(entry)
    return home
