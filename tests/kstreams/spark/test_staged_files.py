"""Staged files of failed attempts are removed, and no files of other writers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kstreams import INT64, TEXT, App, Embedded, Emitter, Topic, Topology, TopologyBuilder
from kstreams.errors import ExecutionError
from kstreams.state.log.commits import CommitLog

pytestmark = pytest.mark.spark

IN, OUT = Topic("in", TEXT, INT64), Topic("out", TEXT, INT64)


def copying() -> Topology:
    builder = TopologyBuilder("copying")
    builder.add_sink("out", OUT, builder.add_source("in", IN))
    return builder.build()


def staged_files(home: Path) -> set[str]:
    return {file.name for file in (home / "topics").glob("*/.staged/*/*")}


def killed(*_: Any) -> Any:
    raise ExecutionError("killed before the commit")


def test_restart_removes_staged_files_of_killed_attempt_only(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = Embedded(tmp_path / "topics", default_partitions=2)
    with Emitter(IN, topics) as emitter:
        emitter.emit_many([(str(n), n) for n in range(10)])
    log = topics.log()
    log.ensure("out", 2)
    rows = pa.table({"key": [b"k"], "value": [b"v"], "timestamp": [1]})
    others = log.stage("out", 0, rows, owner="a stopped app, which may publish it yet")

    with monkeypatch.context() as patch:
        patch.setattr(CommitLog, "add", killed)
        with pytest.raises(ExecutionError, match="killed before the commit"):
            run(topics, tmp_path, spark)
    dead = staged_files(tmp_path) - {others}
    assert dead

    run(topics, tmp_path, spark)
    assert staged_files(tmp_path) == {others}
    assert sum(log.end_offset("out", partition) for partition in range(2)) == 10


def run(topics: Embedded, home: Path, spark: SparkSession) -> None:
    App(copying(), topics, checkpoint=home / "checkpoint", spark=spark).run(until="end")
