"""The public API consists of the names listed by the public modules."""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

import kstreams
from tests.kstreams.public_modules import FACES, ROOT, home_of, names_of, tree_of

OWN = [face for face in FACES if face != "kstreams"]
HEAVY = ["pyspark", "py4j", "pandas", "confluent_kafka", "rocksdict", "msgspec", "boto3", "typer"]
USERS = [
    *sorted(ROOT.glob("examples/*.py")),
    *sorted(ROOT.glob("stores/**/*.py")),
    *sorted(ROOT.glob("serdes/**/*.py")),
    *sorted(ROOT.glob("connectors/**/*.py")),
    *sorted(ROOT.glob("benchmarks/workloads/*.py")),
    *sorted(ROOT.glob("docs/*.md")),
    ROOT / "README.md",
]
TWICE = {"GlobalTable", "Loop", "Table", "VersionedTable"}
"""Names of Kafka Streams, for classes of `kstreams.streams` and for handles of the builder."""
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_root_module_exports_names_that_a_first_app_needs() -> None:
    assert 25 <= len(kstreams.__all__) <= 30
    elsewhere = [name for name in kstreams.__all__ if not _faces_with(name)]
    assert elsewhere == []


def test_each_name_is_in_one_public_module() -> None:
    found = {name: faces for face in OWN for name in names_of(face) if (faces := _faces_with(name))}
    assert {name for name, faces in found.items() if len(faces) > 1} == TWICE
    assert all(found[name] == ["kstreams.streams", "kstreams.topology"] for name in TWICE)


def test_each_public_name_has_one_definition() -> None:
    homes = defaultdict(set)
    for face in FACES:
        for name in names_of(face):
            homes[name].add(home_of(face, name))
    assert {name for name, found in homes.items() if len(found) > 1} == TWICE


@pytest.mark.parametrize("face", FACES)
def test_public_module_lists_its_names_in_order(face: str) -> None:
    names = names_of(face)
    assert list(names) == sorted(set(names), key=_rank)
    assert {name for name in _bound(face) if not name.startswith("_")} == set(names)
    module = import_module(face)
    assert [name for name in names if not hasattr(module, name)] == []
    assert not hasattr(module, "NoSuchThing")


@pytest.mark.parametrize("face", FACES)
def test_public_module_has_example_that_uses_its_names(face: str) -> None:
    text = ast.get_docstring(tree_of(face)) or ""
    assert ">>> " in text
    named = set(re.findall(r"\w+", text))
    assert face == "kstreams" or len(set(names_of(face)) & named) >= len(names_of(face)) / 3


def test_root_module_and_reference_list_each_public_module() -> None:
    named = set(re.findall(r"`(kstreams\.\w+)`", ast.get_docstring(tree_of("kstreams")) or ""))
    pages = {page.stem for page in (ROOT / "docs/reference").glob("*.md")}
    listed = (ROOT / "docs/reference/index.md").read_text().splitlines()
    assert (named, pages) == ({*OWN}, {*FACES, "index"})
    assert [face for face in FACES if face not in listed] == []


def test_no_public_name_hides_a_builtin() -> None:
    assert [name for face in FACES for name in names_of(face) if hasattr(builtins, name)] == []


def test_import_of_public_modules_loads_neither_spark_nor_optional_packages() -> None:
    code = f"import sys, {', '.join(FACES)}; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", USERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_and_docs_import_from_public_modules_only(path: Path) -> None:
    code = path.read_text()
    blocks = BLOCK.findall(code) if path.suffix == ".md" else [code]
    wrong = [
        f"{node.module}.{alias.name}"
        for block in blocks
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kstreams"
        for alias in node.names
        if node.module not in FACES or alias.name not in names_of(node.module)
    ]
    assert wrong == []


def _faces_with(name: str) -> list[str]:
    return [face for face in OWN if name in names_of(face)]


def _rank(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _bound(face: str) -> set[str]:
    """Return the names a user may import from a public module, without submodules and helpers."""
    found: set[str] = set()
    for node in ast.walk(tree_of(face)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("kstreams.", "kstreams_")
        ):
            found |= {alias.asname or alias.name for alias in node.names}
    found |= {
        node.name
        for node in tree_of(face).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    return found - {"lazy_names"}
