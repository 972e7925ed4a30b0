"""Ids are values; their text form is created and parsed in one module."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.ids import TaskId, TopicPartition, parse_keys, text_keys

KINDS = pytest.mark.parametrize("kind", [TaskId, TopicPartition])
ROOT = Path(__file__).parents[2] / "kstreams"

OTHER_CUTS = {
    "app_objects.py": "names of objects",
    "batch_objects.py": "names of objects",
    "changelog_restore.py": "ids of records",
    "cleaning.py": "names of objects",
    "copied_state.py": "names of objects",
    "directory.py": "paths",
    "fork.py": "names of objects",
    "garbage.py": "names of objects",
    "local.py": "paths",
    "loop_objects.py": "names of objects",
    "names.py": "paths",
    "objects.py": "names of objects",
    "openapi.py": "addresses",
    "owner.py": "names of objects",
    "pointer.py": "names of objects",
    "routes.py": "addresses",
    "savepoints.py": "names of objects",
}
"""Modules that split texts at slashes for other purposes than ids."""

OTHER_JOINS = {
    "checkpoint.py": "places, as errors name them",
    "contexts.py": "labels of punctuators",
    "executor.py": "paths",
    "finished.py": "paths",
    "fork.py": "places, as errors name them",
    "local.py": "paths",
    "object_telemetry.py": "names of objects",
    "package_files.py": "paths",
    "plan_log.py": "names of documents",
    "sink.py": "ids of commits",
    "sink_writers.py": "ids of rows",
    "stage_settings.py": "ids of producers",
    "task_key.py": "names of objects",
    "task_numbers.py": "names of workers",
    "topic_io.py": "ids of producers and records, names of segments",
    "topic_reader.py": "names of copies",
    "values.py": "windows as people read them",
    "windowed.py": "windows as people read them",
    "zipped.py": "paths",
}
"""Modules that join values by a slash for other purposes than ids."""


@KINDS
@given(name=st.text(min_size=1), number=st.integers(0, 2**31 - 1))
def test_text_of_id_is_parsed_to_equal_id(
    kind: type[TaskId] | type[TopicPartition], name: str, number: int
) -> None:
    made = kind(name, number)
    assert kind.parse(str(made)) == made
    assert str(made) == f"{made}" == f"{name}/{number}"
    assert pickle.loads(pickle.dumps(made)) == made  # a trusted pickle


@KINDS
@pytest.mark.parametrize("text", ["", "name", "name/", "name/-1", "name/01", "name/x", "name/٣"])
def test_text_that_is_not_an_id_is_rejected(
    kind: type[TaskId] | type[TopicPartition], text: str
) -> None:
    with pytest.raises(ValueError, match="expected name/number"):
        kind.parse(text)


def test_mapping_keys_are_converted_to_text_and_back_in_order() -> None:
    positions = {TopicPartition("b", 1): 7, TopicPartition("a/b", 0): 8}
    texts = text_keys(positions)
    assert list(texts.items()) == [("b/1", 7), ("a/b/0", 8)]
    assert list(parse_keys(TopicPartition, texts).items()) == list(positions.items())


@pytest.mark.long
def test_ids_are_split_and_joined_only_in_their_module() -> None:
    assert _others(_cuts, OTHER_CUTS) == []
    assert _others(_joins, OTHER_JOINS) == []


def _others(found_in: Callable[[ast.AST], Iterator[int]], allowed: Collection[str]) -> list[str]:
    """Return the lines outside of `ids.py` and of listed modules that handle slashes."""
    return [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.name not in allowed and path != ROOT / "ids.py"
        for line in found_in(ast.parse(path.read_text()))
    ]


def _cuts(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that split a text at a slash."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            slash = any(isinstance(a, ast.Constant) and a.value == "/" for a in node.args)
            if slash and node.func.attr in ("split", "rsplit", "partition", "rpartition"):
                yield node.lineno


def _joins(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that join two values by a slash."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for left, slash, right in zip(
                node.values, node.values[1:], node.values[2:], strict=False
            ):
                between = isinstance(slash, ast.Constant) and slash.value == "/"
                if between and all(isinstance(n, ast.FormattedValue) for n in (left, right)):
                    yield node.lineno
