"""The guide and the migration page name all methods of streams, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kstreams import streams
from tests.kstreams.public_modules import FACES, names_of

_DOCS = Path(__file__).parents[3] / "docs"
_GUIDE = _DOCS / "streams.md"
_MIGRATION = _DOCS / "migration" / "kafka-streams.md"
_CODE = re.compile(r"```python\n.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(
    r"^(?P<title>.*):\n\n\| Kafka Streams \| here \|\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE
)
_CALL = re.compile(r"\b([a-z_]+)\(")
_CLASS = re.compile(r"\b[A-Z][A-Za-z]+[a-z][A-Za-z]*")
_CLASSES = (
    *("CogroupedStream", "GlobalTable", "GroupedStream", "GroupedTable", "Loop", "Stream"),
    *("Streams", "Table", "VersionedTable", "WindowResults", "WindowedStream"),
)
_OF_KAFKA = {
    "StreamsBuilder": ("Streams", "Stream"),
    "KStream": ("Stream",),
    "KTable": ("Table", "WindowedStream"),
    "KGroupedStream": ("GroupedStream", "GroupedTable", "CogroupedStream"),
    "TimeWindowedKStream": ("WindowedStream", "WindowResults", "GroupedStream"),
    "GlobalKTable": ("GlobalTable",),
}
_VARIABLES = {"counts", "rates", "users"}
_FUNCTIONS = {name for module in FACES for name in names_of(module)}


def methods(*classes: str) -> set[str]:
    """Return the public methods of classes of `kstreams.streams`."""
    found = (dir(getattr(streams, name)) for name in classes)
    return {name for names in found for name in names if not name.startswith("_")}


def code_of(*pages: Path) -> str:
    """Return the code blocks and code spans of pages."""
    return "\n".join(text for page in pages for text in _CODE.findall(page.read_text()))


def named(cell: str) -> Iterator[str]:
    """Yield the names of functions and methods in a cell of a table."""
    for span in re.findall(r"`([^`]+)`", cell):
        yield from _CALL.findall(span)
        if re.fullmatch(r"[a-z_]+", span):
            yield span


def test_classes_with_methods_are_all_listed() -> None:
    others = {"AsOf", "Joinable", "Near", "SerdeMaker", "TypedSerde", "classes"}
    found = {name for name in streams.__all__ if not name.startswith("Classes")}
    assert found - others == {*_CLASSES}


def test_pages_name_every_public_method() -> None:
    words = {*re.findall(r"[a-z_]+", code_of(_GUIDE, _MIGRATION))}
    assert sorted(methods(*_CLASSES) - words) == []


def test_tables_of_the_guide_name_only_existing_methods() -> None:
    rows = re.findall(r"^\|.*\|$", _GUIDE.read_text(), re.MULTILINE)
    found = {name for row in rows for name in named(row)}
    assert len(found) >= 40
    assert sorted(found - methods(*_CLASSES) - _FUNCTIONS - _VARIABLES) == []


@pytest.mark.parametrize("kafka", [*_OF_KAFKA])
def test_table_of_a_kafka_streams_class_begins_with_methods_of_its_counterpart(kafka: str) -> None:
    tables = _TABLE.finditer(_MIGRATION.read_text())
    (rows,) = [table["rows"] for table in tables if f"`{kafka}`" in table["title"].split(",")[0]]
    own, every = methods(*_OF_KAFKA[kafka]), methods(*_CLASSES) | _FUNCTIONS
    for row in rows.splitlines()[1:]:
        cell = row.strip("| ").split(" | ")[-1]
        if cell.startswith("no equivalent"):
            continue
        assert sorted({*named(cell)} - every) == [], row
        first = [name for name in named(cell) if name not in _FUNCTIONS]
        assert first[:1] == [name for name in first[:1] if name in own], row
        assert {*_CLASS.findall(" ".join(re.findall(r"`([^`]+)`", cell)))} <= _FUNCTIONS | {
            *_CLASSES,
            "FixedKeyProcessor",
            "Processor",
        }, row
