"""App ids, topics and node names cannot make an app read or write files outside its folders."""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kstreams import App, Embedded, TopologyBuilder
from kstreams.batch.io.embedded.topic_io import EmbeddedIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.errors import ForeignDirectoryError, InvalidNameError, StateCorruptError
from kstreams_rocksdb import RocksDB
from tests.support.spark.bench import (
    COUNTS,
    TOTALS,
    WORDS,
    Bench,
    Count,
    counting,
    expected_totals,
)

NAMES = ["../../out", "/etc/out", "a/b", ".."]


@pytest.mark.parametrize("app_id", [*NAMES, "a\0b", "a\n2026-01-01 INFO all is well", ".a"])
def test_app_id_that_leads_out_of_its_folder_is_rejected(app_id: str) -> None:
    with pytest.raises(InvalidNameError, match="an app's id cannot be") as caught:
        App(counting(), Embedded("topics"), app_id=app_id)
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("topic", ["../other", "a/b", ".."])
def test_plan_that_names_segment_outside_topic_is_rejected(tmp_path: Path, topic: str) -> None:
    segment = f"{0:020d}-1-5-{'0' * 16}-0.parquet"
    forged = Slice.from_json(["in", topic, 0, 0, 1, segment])
    with pytest.raises(
        StateCorruptError, match=r"plan of a batch names .*which is not the file name"
    ):
        EmbeddedIO(Embedded(tmp_path / "topics")).read([forged])


def test_plan_with_path_as_partition_is_rejected() -> None:
    with pytest.raises(ValueError, match="the partition of a slice is"):
        Slice.from_json(["in", "a", "../../other/0", 0, 1, ""])


@pytest.mark.spark
@pytest.mark.parametrize("name", ["../../out", "a/b"])
def test_files_of_older_topology_with_any_node_names_stay_in_checkpoint(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("kstreams.graph.building.builder_base.name_problem", lambda _: "")
    builder = TopologyBuilder("odd")
    words = builder.add_source(name, WORDS)
    builder.add_sink(
        "/etc/totals", TOTALS, builder.add_processor("../x", Count, words, stores=[COUNTS])
    )
    topology = builder.build()
    bench.create(WORDS)
    state = RocksDB(directory=str(bench.home / "local"))
    words_in = [("a", "x"), ("b", "x")]
    for turn in (1, 2):
        bench.emit(WORDS, words_in)
        bench.run(topology, state=state, app_id="Zähler 1")
        assert Counter(bench.records(TOTALS)) == expected_totals(words_in * turn)
    assert sorted(p.name for p in bench.home.iterdir()) == ["checkpoint", "local", "topics"]
    (query,) = (bench.checkpoint / "queries").iterdir()
    assert {p.name for p in query.iterdir()} == {"plans", "done"}


@pytest.mark.engines("spark", "group-state")
@pytest.mark.spark
def test_working_copies_in_temporary_folder_are_private_to_user(
    bench: Bench, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = bench.home / "tmp"
    shared.mkdir()
    monkeypatch.setitem(spark.sparkContext.environment, "TMPDIR", str(shared))
    bench.create(WORDS)
    bench.emit(WORDS, [("a" * 300_000, "x")])  # too many bytes to stay in memory
    bench.run(counting(), state=RocksDB(), app_id="private")
    own = [p for p in shared.glob("kstreams-*/**/*") if p.is_dir()]
    assert any(p.name == "attempts" for p in own)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in own if p.parent.name != "attempts"}
    assert modes == {0o700}

    home = shared / f"kstreams-{os.getuid()}"
    home.rename(shared / "theirs")
    home.symlink_to(shared / "theirs")
    bench.emit(WORDS, [("b", "x")])
    with pytest.raises(ForeignDirectoryError, match="a symbolic link, or not a directory"):
        bench.run(counting(), state=RocksDB(), app_id="private")
