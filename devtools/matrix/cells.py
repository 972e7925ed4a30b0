"""The cells of the matrix: a Python, a series of PySpark and a suite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from devtools.release.pythons import VERSIONS
from devtools.workspace import ROOT

__all__ = ("PYSPARKS", "PYTHONS", "SUITES", "Cell", "cells", "locked_pyspark")

PYTHONS = (*VERSIONS, "3.14")
"""The supported versions, and the next one."""

PYSPARKS = ("4.1", "4.2", "4.3")
"""The supported series, and later ones for trials."""

SUITES = ("fast", "engine", "types")


class Cell(NamedTuple):
    """A suite on a Python with a PySpark.

    Attributes:
        python: The version of Python, such as `3.12`.
        pyspark: The series of PySpark, such as `4.1`.
        suite: One of `SUITES`.
    """

    python: str
    pyspark: str
    suite: str

    def __str__(self) -> str:
        return f"Python {self.python}, pyspark {self.pyspark}: {self.suite}"


def cells(
    pythons: Sequence[str] = (), pysparks: Sequence[str] = (), suites: Sequence[str] = ()
) -> list[Cell]:
    """Return the chosen cells, in the order of the table; nothing chosen means everything.

    The type checkers run once for each Python, with the locked PySpark.
    """
    locked = ".".join(locked_pyspark().split(".")[:2])
    return [
        Cell(python, pyspark, suite)
        for python in PYTHONS
        for pyspark in PYSPARKS
        for suite in SUITES
        if python in (pythons or PYTHONS)
        and pyspark in (pysparks or PYSPARKS)
        and suite in (suites or SUITES)
        and (suite != "types" or pyspark == locked)
    ]


def locked_pyspark() -> str:
    """Return the version of PySpark in `requirements/lock.txt`."""
    lock = (ROOT / "requirements" / "lock.txt").read_text()
    found = re.search(r"^pyspark==(\S+)", lock, re.MULTILINE)
    assert found, "requirements/lock.txt has no pyspark"
    return found.group(1)
