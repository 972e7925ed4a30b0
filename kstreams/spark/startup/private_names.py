"""Access to private names of PySpark, tested with version 4.1."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext

__all__ = ("class_path", "current_gateway", "use_gateway")


def current_gateway() -> Any:  # noqa: ANN401  # PySpark has no type for it
    """Return PySpark's connection to a JVM; None without a JVM."""
    return SparkContext._gateway


def use_gateway(gateway: Any) -> None:  # noqa: ANN401  # as above
    """Make sessions use a connection to a JVM."""
    SparkContext._ensure_initialized(gateway=gateway)


def class_path() -> str:
    """Return the class path of the JVM of a session."""
    jvm: Any = SparkContext._jvm
    return str(jvm.java.lang.System.getProperty("java.class.path"))
