"""Finds the folder of Spark's programs and jars as PySpark does, but without importing PySpark."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

__all__ = ("spark_home",)


def spark_home() -> Path | None:
    """Return Spark's folder: `SPARK_HOME`, else that of the installed pyspark, if there is one."""
    if named := os.environ.get("SPARK_HOME"):
        return Path(named)
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    package = Path(found.origin).parent
    for home in (package / "spark-distribution", package):
        if (home / "bin" / "spark-submit").is_file() and (home / "jars").is_dir():
            return home
    return None
