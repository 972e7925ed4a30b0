"""`kstreams counts`: the counts of an app's nodes in its last commits."""

from __future__ import annotations

import json
from pathlib import Path

from kstreams.ids import TopicPartition
from kstreams.state.log.commits import Commit
from kstreams.state.log.topic_counts import TopicCounts
from kstreams.state.log.totals import NodeCounts, PartitionCounts, Totals
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.cli.command_line import kstreams, say

WHERE = ("--checkpoint", "c")
TOTALS = Totals(
    {"in": NodeCounts(12, 8, 1, {"null-key": 1, "late": 2}), "keep": NodeCounts(8)},
    {"in": {TopicPartition("in", 2): PartitionCounts(11, 1)}},
    {"in": TopicCounts(11, 1_200), "out": TopicCounts(0, 0, 8, 64)},
)


def committed(totals: Totals | None) -> None:
    app = Committing(Path("c").absolute(), COUNTS)
    app.commits.append(Commit(0, "run", 1_000, {}, totals=totals))


def test_counts_show_a_line_for_each_node() -> None:
    committed(TOTALS)
    lines = [line.split() for line in say("counts", "viewed", *WHERE).splitlines()]
    assert lines[1] == ["in", "in", "12", "8", "1", "2", "late,", "1", "null-key"]
    assert lines[2] == ["in", "keep", "8", "0", "0", "none"]
    assert ["in", "in", "11", "1,200", "0", "0"] in lines
    assert ["in", "out", "0", "0", "8", "64"] in lines


def test_counts_command_prints_json() -> None:
    committed(TOTALS)
    (query,) = json.loads(say("counts", "viewed", *WHERE, "--json"))["queries"]
    assert (query["query"], query["batch"], query["committed_at_ms"]) == ("in", 0, 1_000)
    dropped = {"null-key": 1, "late": 2}
    assert query["nodes"]["in"] == {"in": 12, "out": 8, "held": 1, "dropped": dropped}
    assert query["partitions"] == {"in": {"in/2": {"taken": 11, "held": 1}}}
    out = {"records_in": 0, "bytes_in": 0, "records_out": 8, "bytes_out": 64}
    assert query["topics"]["out"] == out


def test_commit_of_an_earlier_release_has_no_counts() -> None:
    committed(None)
    found = kstreams("counts", "viewed", *WHERE)
    assert (found.exit_code, "counts start with the next batch" in found.stderr) == (0, True)


def test_counts_of_app_without_batch_reports_that_it_has_none() -> None:
    Committing(Path("c").absolute(), COUNTS)
    found = kstreams("counts", "viewed", *WHERE)
    assert (found.exit_code, "no committed batch yet" in found.stderr) == (0, True)
