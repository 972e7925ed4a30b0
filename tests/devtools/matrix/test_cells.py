"""The cells of the matrix of versions."""

from __future__ import annotations

from devtools.matrix.cells import PYSPARKS, PYTHONS, SUITES, Cell, cells, locked_pyspark
from devtools.release.pythons import VERSIONS
from devtools.workspace import core

LOCKED = ".".join(locked_pyspark().split(".")[:2])


def test_all_cells_have_types_suite_once_per_python() -> None:
    found = cells()

    assert len(found) == len(set(found))
    assert [each for each in found if each.suite == "types"] == [
        Cell(python, LOCKED, "types") for python in PYTHONS
    ]
    tests = [each for each in found if each.suite != "types"]
    assert len(tests) == len(PYTHONS) * len(PYSPARKS) * (len(SUITES) - 1)


def test_chosen_cells_are_the_combinations_of_the_choices_in_order_of_the_table() -> None:
    assert cells(["3.13", "3.10"], ["4.3"], ["fast"]) == [
        Cell("3.10", "4.3", "fast"),
        Cell("3.13", "4.3", "fast"),
    ]
    assert cells(["3.12"], ["4.3"], ["types"]) == []


def test_every_supported_python_and_pyspark_is_in_the_matrix() -> None:
    assert set(VERSIONS) < set(PYTHONS)
    (pyspark,) = [each for each in core().dependencies if each.startswith("pyspark")]
    oldest, newest = (part.lstrip("pysark><=") for part in pyspark.split(","))
    assert oldest in PYSPARKS
    supported = [each for each in PYSPARKS if oldest <= each < newest]
    assert LOCKED in supported
