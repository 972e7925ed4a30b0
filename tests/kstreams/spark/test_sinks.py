"""Sinks that are not topics, and topics chosen by record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Record, TopologyBuilder
from kstreams.io import topic_by
from kstreams.topology import to_function, to_stdout
from tests.kstreams.spark.running_sum import NUMBERS, SUMS
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark


def test_sinks_that_are_not_topics_receive_results(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = bench.home / "seen"
    builder = TopologyBuilder("sinks")
    numbers = builder.add_source("numbers", NUMBERS)
    builder.add_sink("print", to_stdout(), numbers)
    builder.add_sink("call", to_function(_noting(seen)), numbers)
    bench.create(NUMBERS)
    bench.emit(NUMBERS, [Record("a", 1, 5), Record("b", 2, 6)])
    bench.run(builder.build())
    assert sorted(seen.read_text().splitlines()) == ["a 1 5", "b 2 6"]
    lines = [line for line in capsys.readouterr().out.splitlines() if "1" in line or "2" in line]
    assert len(lines) == 2


def _noting(path: Path) -> Callable[[Record[str, int]], None]:
    def note(record: Record[str, int]) -> None:
        with path.open("a") as file:
            file.write(f"{record.key} {record.value} {record.timestamp}\n")

    return note


def test_topics_chosen_by_record_are_created_and_keep_headers(bench: Bench) -> None:
    builder = TopologyBuilder("by-record")
    numbers = builder.add_source("numbers", NUMBERS)
    builder.add_sink("by", topic_by(_topic_of, key=TEXT, value=INT64), numbers)
    edge = builder.repartition("edge", numbers, key=TEXT, value=INT64)
    builder.add_sink("sums", SUMS, edge)
    bench.create(NUMBERS)
    headers = (("h", b"1"), ("h", None), ("é", b""))
    bench.emit(NUMBERS, [Record("a", 1, 5, headers), Record("b", 2, 6)])
    bench.run(builder.build())
    (one,) = bench.raw("out-1")
    assert (one.key, one.timestamp, one.headers) == (b"a", 5, headers)
    assert [row.key for row in bench.raw("out-0")] == [b"b"]
    assert bench.connection.admin().partition_count("out-0") == 4
    assert {row.key: row.headers for row in bench.raw(SUMS)} == {b"a": headers, b"b": ()}


def _topic_of(record: Record[str, int]) -> str:
    return f"out-{record.value % 2}"


# ------------------------------------------------------------------- policies, interceptors, nulls
