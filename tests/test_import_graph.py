"""Modules do not import each other in circles, apart from a few listed imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_FOLDERS = (_ROOT, _ROOT / "packages", _ROOT / "connectors", _ROOT / "stores", _ROOT / "serdes")
_PACKAGES = tuple(
    package.name
    for folder in (_ROOT, *_FOLDERS[1:])
    for package in sorted(folder.glob("kstreams*"))
    if (package / "py.typed").exists()
)

_ALLOWED = {
    # `topology.describe()`: users look for diagrams on the topology.
    ("kstreams.graph.topology", "kstreams.graph.pictures.describe"),
    ("kstreams.graph.topology", "kstreams.graph.pictures.dot"),
    ("kstreams.graph.topology", "kstreams.graph.pictures.mermaid"),
    # A definition names its kind, and a kind creates objects from definitions; only for types.
    ("kstreams.state.stores.kind", "kstreams.state.stores.spec"),
    ("kstreams.state.stores.kind", "kstreams.state.stores.changelog_form"),
    ("kstreams.state.stores.spec", "kstreams.state.stores.changelog_form"),
    # `S3(...)` is a value that opens its store, and a store shows its settings.
    ("kstreams_objectstore.settings", "kstreams_objectstore.store"),
    ("kstreams_s3.settings", "kstreams_s3.store"),
    ("kstreams_gcs.settings", "kstreams_gcs.store"),
    ("kstreams_sftp.settings", "kstreams_sftp.store"),
    # As for `S3(...)`: `Kafka(...)` opens its feed, `Webhook(...)` its intake.
    ("kstreams_kafka.options", "kstreams_kafka.feed"),
    ("kstreams_webhook.webhook", "kstreams_webhook.receiver"),
}
"""Imports inside functions, or only for types, that may close a circle."""


def _modules() -> dict[str, Path]:
    return {
        _name(file.relative_to(folder)): file
        for folder in _FOLDERS
        for package in _PACKAGES
        for file in (folder / package).rglob("*.py")
    }


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported(file: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that a file imports, at any level."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules else node.module


def _graph() -> dict[str, set[str]]:
    modules = _modules()
    return {
        name: {found for found in _imported(file, modules) if found in modules and found != name}
        for name, file in modules.items()
    }


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph = {
        name: {other for other in others if (name, other) not in _ALLOWED}
        for name, others in _graph().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as exc:
        circle = " <- ".join(exc.args[1])
        raise AssertionError(f"modules import each other in a circle: {circle}") from None


def test_each_allowed_circular_import_exists() -> None:
    graph = _graph()
    assert {pair for pair in _ALLOWED if not _leads(graph, pair[1], pair[0])} == set()
    assert {pair for pair in _ALLOWED if pair[1] not in graph[pair[0]]} == set()


def test_connectors_import_neither_other_plugins_nor_spark() -> None:
    modules, graph = _modules(), _graph()
    connectors = {path.name for path in (_ROOT / "connectors").glob("kstreams_*")}
    built_on_the_core = {path.name for path in (_ROOT / "packages").glob("kstreams_*")}
    shared = {"kstreams", "kstreams_msgspec", "kstreams_objectstore", "kstreams_rows"}
    plugins = {*_PACKAGES} - built_on_the_core - shared
    wrong = [
        (name, other)
        for name, others in graph.items()
        for other in others
        for own, its in [(name.partition(".")[0], other.partition(".")[0])]
        if own != its and (own in connectors or its in connectors) and its in plugins
    ]
    assert wrong == []
    assert [
        name
        for name, file in modules.items()
        if name.partition(".")[0] in connectors
        and {"pyspark", "py4j"} & {found.partition(".")[0] for found in _imported(file, modules)}
    ] == []


def _leads(graph: Mapping[str, set[str]], start: str, end: str) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name == end:
            return True
        if name not in seen:
            seen.add(name)
            waiting.extend(graph[name])
    return False
