"""Annotations of a script's classes, in the script and in processes without it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Generic, TypeVar, get_type_hints

import pytest

from kstreams.workers.type_hints import resolved_annotations

if TYPE_CHECKING:
    from decimal import Decimal

SCRIPT = Path(__file__).with_name("nested_types.py")
NAME = "tests.kstreams.spark.nested_types"
_IN_CELLS = """
import code, sys
cells = open(sys.argv.pop(1)).read().split("\\n\\n\\n")
console = code.InteractiveInterpreter(vars(sys.modules["__main__"]))
for number, cell in enumerate(cells):
    if console.runsource(cell + "\\n", f"<cell {number}>", "exec"):
        raise SystemExit(f"cell {number} is not complete")
"""
WAYS = {
    "script": [str(SCRIPT)],
    "module": ["-c", f"from {NAME} import main; main()"],
    "module as a script": ["-m", NAME],
    "text": ["-c", SCRIPT.read_text()],
    "cells of a notebook": ["-c", _IN_CELLS, str(SCRIPT)],
    "run_path": ["-c", f"import runpy; runpy.run_path({str(SCRIPT)!r})"],
    "run_path as main": [
        "-c",
        f"import runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')",
    ],
    "run_module": [
        "-c",
        f"import runpy; runpy.run_module({NAME!r}, run_name='__main__', alter_sys=True)",
    ],
}

T = TypeVar("T")
"""A type variable."""


@dataclass
class Leaf(Generic[T]):
    """A generic class used by the others."""

    value: T


@dataclass
class Tree:
    """A class with annotations of itself and of other classes."""

    kind: ClassVar[int] = 1
    given: InitVar[int]
    leaf: Annotated[Leaf[int], "kept"]
    below: list[Tree] | None
    weight: Decimal


def test_resolved_annotations_are_types_for_known_names_and_text_for_others() -> None:
    found = resolved_annotations(Tree)
    assert found["leaf"] == Annotated[Leaf[int], "kept"]
    assert found["below"] == list[Tree] | None
    assert found["kind"] == ClassVar[int]
    assert found["weight"] == "Decimal"
    assert list(found) == ["kind", "given", "leaf", "below", "weight"]


def test_resolved_annotations_of_derived_class_leave_out_base_class() -> None:
    class Oak(Leaf[int]):
        height: int

    assert resolved_annotations(Oak) == {"height": int}
    assert resolved_annotations(type("Bare", (), {})) == {}


def test_resolved_annotations_of_class_without_module_come_from_its_methods() -> None:
    names: dict[str, object] = {"__name__": "gone"}
    exec("class A: pass\nclass B:\n  a: 'A'\n  def use(self): pass", names)  # noqa: S102
    made = names["B"]
    assert isinstance(made, type)
    with pytest.raises(NameError):
        get_type_hints(made)
    assert resolved_annotations(made) == {"a": names["A"]}


def _run(way: str, *arguments: str) -> str:
    command = [sys.executable, *WAYS[way], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_serdes_of_nested_types_of_script_are_unpickled_in_process_without_it(
    way: str,
) -> None:
    assert _run(way).endswith(": 14 serdes\n")


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", ["script", "run_path"])
def test_app_of_script_with_nested_types_reads_and_writes_by_all_serdes(
    way: str, tmp_path: Path
) -> None:
    assert _run(way, str(tmp_path)).endswith(": 14 serdes\n")
