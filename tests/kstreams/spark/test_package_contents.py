"""Modules in `kstreams.spark` must need Spark."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import kstreams

ROOM = Path(kstreams.__file__).parent / "spark"
WITHOUT_SPARK = {"package_archive": "packs the user's modules, which Spark sends to executors"}
"""Modules that import neither pyspark nor py4j, with the reason why they are in the package.

Packages are excluded: modules of `frames/` and `group_state/` are the functions that Spark's
operators call, and those of `startup/` start Spark.
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
