"""Modules in `kstreams.spark` must need Spark."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import kstreams

ROOM = Path(kstreams.__file__).parent / "spark"
WITHOUT_SPARK = {
    "archive_maker": "archives the classes that Spark's JVM loads",
    "class_archive": "keeps the archive of the classes that Spark's JVM loads",
    "java": "finds the Java that Spark's JVM is started with",
    "java_wrapper": "makes that Java usable for Spark's launcher",
    "jvm_command": "is how Spark's launcher would start that JVM",
    "known_java": "remembers what that Java said of itself",
    "worker_prefork": "makes Spark's Python daemons forks of one process",
    "worker_prefork_process": "is that process",
    "package_archive": "packs the user's modules, which Spark brings to executors",
    "session_settings": "settings of a session made here, known before pyspark is imported",
    "spark_home": "finds Spark before pyspark is imported",
}
"""Modules that import neither pyspark nor py4j, with the reason why they are in the package.

Modules of `frames/` are excluded: they are the functions that Spark's operators call.
"""


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level packages that a module imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def test_each_module_of_spark_package_imports_pyspark_or_py4j() -> None:
    without = {
        path.stem
        for path in ROOM.glob("*.py")
        if path.stem != "__init__" and not {"pyspark", "py4j"} & set(imported(path))
    }
    assert without == set(WITHOUT_SPARK)
