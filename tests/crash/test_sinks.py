"""Crashes before, between and after the commits of a batch and of its database and file sinks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from devtools.servers.rabbit import RabbitServer
from devtools.servers.redis import RedisServer
from kstreams import Record, Topology, TopologyBuilder
from kstreams.sinks import Sink
from kstreams.state import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.directory import Directory
from kstreams_delta import DeltaTable
from kstreams_iceberg import IcebergTable
from kstreams_objects import FileForEach, JsonLines, Objects
from kstreams_postgres import PostgresTable
from kstreams_postgres.writer import PostgresWriter
from kstreams_rabbitmq import RabbitStream
from kstreams_redis import RedisStream
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import RECOVERIES, Harness, Recovery
from tests.support.crash.marking_app import COUNTS, DROP, IN, LAST, MARKS, OUT, Mark
from tests.support.sinks.delta_tables import rows_of as delta_rows
from tests.support.sinks.iceberg_catalogs import NAME, catalog_in
from tests.support.sinks.iceberg_catalogs import rows_of as iceberg_rows
from tests.support.sinks.postgres_tables import Place
from tests.support.sinks.rabbitmq_streams import Place as RabbitPlace
from tests.support.sinks.rabbitmq_streams import rows as messages_of
from tests.support.sinks.redis_database import Place as RedisPlace

pytestmark = pytest.mark.slow

POINTS = (
    Point("before-the-rows", "before sink"),
    Point("between-the-databases-commit-and-the-batchs", "after sink"),
    Point("one-of-two-sinks-written", "after sink", nth=2),
    Point("one-of-two-tasks-written", "after sink", nth=3),
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("committed-and-not-shown", "before show", dies="driver"),
    Point("shown-and-spark-not-told", "after show", dies="driver"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=400),
)
AROUND = [POINTS[1], POINTS[3], *POINTS[6:]]
"""Points around staging and publishing."""
MARK = pa.schema([("word", pa.string()), ("mark", pa.string())])


def mark_row(key: str, mark: str) -> Mapping[str, object]:
    """Make a row of each mark; no two attempts have the same."""
    return {"word": key, "mark": mark}


def count_row(_key: str, mark: str) -> Mapping[str, object] | None:
    """Make the count of a key, which a drop deletes."""
    return None if mark == DROP else {"n": int(mark.partition(":")[0])}


@dataclass(frozen=True)
class OtherSinks:
    """Sinks that append marks, in addition to those of the database.

    Attributes:
        sinks: The sinks by name.
        seen: Returns the contents of each sink's target.
    """

    sinks: Mapping[str, Sink[str, str]]
    seen: Mapping[str, Callable[[], Iterable[Mapping[str, str]]]]


class SinkHarness(Harness):
    """The app of the crash matrix, which also writes to a database.

    Args:
        tables: The database.
        others: The other sinks.
        given: Arguments of `Harness`.
    """

    def __init__(self, tables: Place, others: OtherSinks, *given: Any) -> None:
        self.tables = tables
        self.others = others
        tables.execute("CREATE TABLE marks (word text, mark text)")
        tables.execute("CREATE TABLE counts (word text PRIMARY KEY, n int)")
        super().__init__(*given)

    def build(self) -> Topology:
        builder = TopologyBuilder("marking")
        stores = [LAST, COUNTS, MARKS]
        node = builder.add_processor("mark", Mark, builder.add_source("words", IN), stores=stores)
        builder.add_sink("marks", OUT, node)
        url = self.tables.url
        builder.add_sink("rows", PostgresTable(url, "marks", key=(), row=mark_row), node)
        for name, sink in self.others.sinks.items():  # death is before, among and after them
            builder.add_sink(name, sink, node)
        counts = PostgresTable(url, "counts", key=("word",), row=count_row)
        builder.add_sink("counts", counts, node)
        return builder.build()

    def _patch_once(self) -> None:
        super()._patch_once()
        reach, write, show = self.faults.reach, PostgresWriter.write, PostgresTable.publish

        def written(writer: PostgresWriter[Any, Any], *given: Any) -> Sequence[str]:
            reach("before sink")
            receipts = write(writer, *given)
            reach("after sink")
            return receipts

        def shown(sink: PostgresTable[Any, Any], receipts: Any) -> None:
            reach("before show")
            show(sink, receipts)
            reach("after show")

        self._patch.setattr(PostgresWriter, "write", written)
        self._patch.setattr(PostgresTable, "publish", shown)

    def _new_process(self) -> None:
        if hasattr(self, "worker"):
            self.worker.writers.close()
        super()._new_process()

    def check(self) -> None:
        """Compare the tables with the topic, which holds each result once."""
        super().check()
        rows = [(row.key.decode(), row.value.decode()) for row in self._published()]
        assert self.tables.rows("marks") == sorted(rows)
        for name, seen in self.others.seen.items():
            assert (name, sorted((row["word"], row["mark"]) for row in seen())) == (
                name,
                sorted(rows),
            )
        counted = {key: count_row(key, mark) for key, mark in rows}
        assert dict(self.tables.rows("counts")) == {
            key: found["n"] for key, found in counted.items() if found is not None
        }
        assert self.tables.execute("SELECT count(*) FROM kstreams_fence") == [(4,)]
        self.worker.writers.close()


def in_files(folder: Path) -> OtherSinks:
    """Return sinks of files: one file for each task and batch, and one for each result."""
    files: Objects[str, str] = Objects(folder / "files", format=JsonLines(), row=mark_row)
    each = FileForEach(folder / "each", path=mark_path, body=mark_body)
    return OtherSinks(
        {"files": files, "each": each},
        {"files": lambda: _lines(folder / "files"), "each": lambda: _each(folder / "each")},
    )


def mark_path(record: Record[str, str]) -> str:
    """Make a path of each mark; that of a drop has its time."""
    return f"{record.key}/{record.value}-{record.timestamp}"


def mark_body(record: Record[str, str]) -> bytes:
    """Make the contents of the file of a mark."""
    return mark_message(record.key, record.value)


def _each(folder: Path) -> list[dict[str, str]]:
    return [json.loads(path.read_text()) for path in folder.glob("[!_]*/*")]


def _lines(folder: Path) -> list[dict[str, str]]:
    paths = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def in_lakes(folder: Path) -> OtherSinks:
    """Return sinks of Delta and Iceberg tables."""
    catalog = catalog_in(folder)
    place = str(folder / "delta")
    delta: DeltaTable[str, str] = DeltaTable(place, MARK, row=mark_row)
    iceberg: IcebergTable[str, str] = IcebergTable(NAME, MARK, row=mark_row, catalog=catalog)
    return OtherSinks(
        {"delta": delta, "iceberg": iceberg},
        {"delta": lambda: delta_rows(place), "iceberg": lambda: iceberg_rows(catalog)},
    )


@pytest.mark.long
@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_database_tables_have_each_result_once_after_a_crash(
    point: Point,
    recovery: Recovery,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = partial(SinkHarness, Place(database), in_files(tmp_path / "files"))
    run(make, point, recovery, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("point", AROUND, ids=lambda point: point.name)
def test_delta_and_iceberg_tables_have_each_result_once_after_a_crash(
    point: Point, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = partial(SinkHarness, Place(database), in_lakes(tmp_path / "lakes"))
    run(make, point, RECOVERIES[0], tmp_path, monkeypatch)


@pytest.mark.parametrize("point", AROUND, ids=lambda point: point.name)
def test_redis_stream_has_each_result_once_after_a_crash(
    point: Point,
    database: str,
    redis_server: RedisServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = uuid4().hex
    redis = RedisStream[str, str](redis_server.url, stream=stream, fields=mark_fields)
    place = RedisPlace(redis_server.url)
    others = OtherSinks({"stream": redis}, {"stream": lambda: place.entries(stream)})
    make = partial(SinkHarness, Place(database), others)
    run(make, point, RECOVERIES[0], tmp_path, monkeypatch)


@pytest.mark.connectors
@pytest.mark.parametrize("point", AROUND, ids=lambda point: point.name)
def test_rabbitmq_stream_has_each_result_once_after_a_crash(
    point: Point,
    database: str,
    rabbit: RabbitServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = RabbitPlace(rabbit.stream_url, rabbit.url)
    stream = RabbitStream[str, str](rabbit.stream_url, stream=place.stream, body=mark_message)
    others = OtherSinks({"stream": stream}, {"stream": lambda: _messages(place)})
    make = partial(SinkHarness, Place(database), others)
    run(make, point, RECOVERIES[0], tmp_path, monkeypatch)


def mark_message(key: str, mark: str) -> bytes:
    """Make the message of a mark."""
    return json.dumps(mark_row(key, mark)).encode()


def _messages(place: RabbitPlace) -> list[dict[str, str]]:
    return [json.loads(row["value"]) for row in messages_of(place.log())]


def mark_fields(key: str, mark: str) -> Mapping[str, str]:
    """Make the fields of a mark."""
    return {"word": key, "mark": mark}


def run(
    make: Callable[..., SinkHarness],
    point: Point,
    recovery: Recovery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Run some batches, die at the point, recover, and check all sinks."""
    log: ObjectStoreSettings = Directory(str(tmp_path / "log"))
    state = Memory(directory=str(tmp_path / "local"))
    harness = make(tmp_path, state, log, point, recovery, monkeypatch)
    harness.die_and_go_on(before=2)
