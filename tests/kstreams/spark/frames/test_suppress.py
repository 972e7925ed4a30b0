"""`suppress` and windows without an end on DataFrames, on Spark fakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.emit import on_close
from kstreams.errors import CompileError
from kstreams.stores import window_store
from kstreams.windows import UnlimitedWindows, windowed_aggregate
from tests.kstreams.spark.frames.test_long_runs import OPERATORS, on_driver, rows, start, suppressed
from tests.support.fake_spark.query import PlayedQuery
from tests.support.topologies.frame_topologies import RELEASED, WORDS


def test_record_due_on_arrival_is_released_in_its_batch(tmp_path: Path) -> None:
    batches = [(0, [("a", 100)]), (1, [("c", 50)]), (2, [("c", 40)]), (3, [("a", 115)])]
    query = PlayedQuery()
    start(query, suppressed(), tmp_path, OPERATORS[0], timers=True)
    found = []
    for wall_ms, words in batches:
        query.batch(rows(words), wall_ms)
        table = query.written[query.batches - 1]
        keys = [] if table is None else table.column("key").to_pylist()
        found.append([key.decode() for key in keys])
    assert found == [[], ["c"], ["c"], ["a"]]
    expected = on_driver(suppressed(), RELEASED, batches)
    assert found == [[key for key, _ in batch] for batch in expected]


def unlimited() -> Topology:
    builder = TopologyBuilder("unlimited")
    store = window_store("all", key=TEXT, value=INT64)
    counting = windowed_aggregate(UnlimitedWindows(), count(), store=store, emit=on_close())
    builder.add_processor("count", counting, builder.add_source("words", WORDS))
    return builder.build()


def test_transform_frames_rejects_unlimited_windows_emitted_on_close(tmp_path: Path) -> None:
    with pytest.raises(
        CompileError, match=r"node 'count' forwards no results.*\nHint:.*bounded DataFrames"
    ):
        start(PlayedQuery(), unlimited(), tmp_path, OPERATORS[0])
