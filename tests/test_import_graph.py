"""Modules do not import each other in circles, apart from a few listed imports."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.imports import graph

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
    # A step of a stream returns a stream or a table, and a table becomes a stream.
    ("kstreams.streams.stream_base", "kstreams.streams.stream"),
    ("kstreams.streams.record_steps", "kstreams.streams.stream"),
    ("kstreams.streams.join_steps", "kstreams.streams.stream"),
    ("kstreams.streams.processor_steps", "kstreams.streams.stream"),
    ("kstreams.streams.stream", "kstreams.streams.grouped"),
    ("kstreams.streams.stream", "kstreams.streams.table"),
    ("kstreams.streams.table", "kstreams.streams.grouped_table"),
    ("kstreams.streams.table_joins", "kstreams.streams.table"),
    ("kstreams.streams.windowed", "kstreams.streams.grouped"),
}
"""Imports inside functions, or only for types, that may close a circle."""


@pytest.mark.long
def test_modules_have_no_circular_imports() -> None:
    without_allowed = {
        name: {other for other in others if (name, other) not in _ALLOWED}
        for name, others in graph().items()
    }
    try:
        TopologicalSorter(without_allowed).prepare()
    except CycleError as exc:
        circle = " <- ".join(exc.args[1])
        raise AssertionError(f"modules import each other in a circle: {circle}") from None


def test_each_listed_exception_for_circular_import_exists() -> None:
    found = graph()
    assert {pair for pair in _ALLOWED if not _leads(found, pair[1], pair[0])} == set()
    assert {pair for pair in _ALLOWED if pair[1] not in found[pair[0]]} == set()


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
