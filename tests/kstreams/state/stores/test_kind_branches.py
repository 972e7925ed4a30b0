"""Only a store kind itself may decide by its kind; other code calls its methods."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kstreams
from kstreams.state.stores.known_kinds import BUILT_IN_KINDS

PACKAGE = Path(kstreams.__file__).parent
STORES = PACKAGE / "state" / "stores"
FOLDERS = sorted(path.parent for path in STORES.glob("*/kind.py"))
NAMES = {kind.name for kind in BUILT_IN_KINDS}
OF_STORES = {"spec", "store", "old", "new"}


def classes() -> set[str]:
    """Return the names of the classes defined by kinds."""
    trees = (ast.parse(path.read_text()) for folder in FOLDERS for path in folder.glob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.name for node in nodes if isinstance(node, ast.ClassDef)} | {"StoreKind"}


CLASSES = classes()


def is_kind(node: ast.expr) -> bool:
    """Return whether an expression is a store kind or its name."""
    if isinstance(node, ast.Attribute) and node.attr == "name":
        node = node.value
    if not isinstance(node, ast.Attribute) or node.attr != "kind":
        return False
    owner = node.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return name.strip("_") in OF_STORES


def names_kinds(nodes: list[ast.expr | None], at_least: int) -> bool:
    found = {node.value for node in nodes if isinstance(node, ast.Constant)}
    return len(found & NAMES) >= at_least


def switches(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that branch on a store's kind or class."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.Match)) and decides(node):
            yield node.lineno if isinstance(node, ast.expr) else node.subject.lineno


def decides(node: ast.expr | ast.Match) -> bool:
    match node:
        case ast.Compare(left=left, comparators=others):
            return any(map(is_kind, (left, *others)))
        case ast.Match(subject=asked) | ast.Subscript(slice=asked):
            return is_kind(asked)
        case ast.Dict(keys=keys):
            return names_kinds(keys, 2)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            return any(isinstance(n, ast.Name) and n.id in CLASSES for n in ast.walk(kinds))
        case ast.Call(func=ast.Attribute(value=owner, attr="get" | "startswith"), args=given):
            return any(map(is_kind, (owner, *given)))
        case _:
            return False


@pytest.mark.parametrize(
    "code",
    [
        "spec.kind == 'window'",
        "self.spec.kind.name in ('timestamped', 'list')",
        "old.kind != new.kind",
        "view.spec.kind.name.startswith('key-value')",
        "match view.spec.kind:\n    case 'list':\n        pass",
        "_ORDERS[self.spec.kind]",
        "_COLUMNS.get(view.spec.kind.name, ('key', 'value'))",
        "_KINDS = {'window': window_store, 'session': session_store}",
        "isinstance(store, (TimestampedStore, VersionedKeyValueStore))",
        "isinstance(spec.kind, WindowKind)",
    ],
)
def test_check_detects_branch_on_store_kind(code: str) -> None:
    assert list(switches(ast.parse(code)))


@pytest.mark.long
def test_no_code_outside_of_store_kinds_branches_on_kind() -> None:
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent not in FOLDERS and path.parent != STORES
        for line in switches(ast.parse(path.read_text()))
    ]
    assert found == []


def test_store_kind_folders_have_only_allowed_files() -> None:
    allowed = {"__init__", "store", "rows", "columns", "changelog", "kind"}
    extra = {f"{f.name}/{p.stem}" for f in FOLDERS for p in f.glob("*.py")}
    others = {name for name in extra if name.split("/")[1] not in allowed}
    assert others == {
        "key_value/expiring",
        "versioned/table_columns",
        *(f"join/{name}" for name in ("blocks", "coding", "packed", "setup", "sides", "tail")),
    }
    assert len(FOLDERS) == 13
    assert all((folder / "store.py").exists() for folder in FOLDERS)


def test_store_kind_names_on_disk_are_stable() -> None:
    assert [kind.name for kind in BUILT_IN_KINDS] == [
        "key-value",
        "key-value-ttl-stream",
        "key-value-ttl-wall",
        "timestamped",
        "window",
        "session",
        "versioned",
        "list",
        "sliding",
        "buffer",
        "pending",
        "paced",
        "join",
        "queue",
        "subscription",
    ]
