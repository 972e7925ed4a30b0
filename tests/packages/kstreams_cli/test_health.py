"""`kstreams health`: an idle app is healthy as long as it has no records to read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from kstreams import Embedded
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.ids import TopicPartition
from kstreams.log import RetainedSize
from kstreams.state.log.commits import Commit
from kstreams.telemetry.formats import LIVE, TOPOLOGY, to_bytes
from kstreams.telemetry.live import Live, LiveQuery
from kstreams.telemetry.outline import GroupOutline, NodeOutline, Outline
from kstreams.telemetry.unread import Unread
from tests.support.apps.committing_app import PARTITIONS, Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.cli.command_line import kstreams

READ = 4


@pytest.fixture(autouse=True)
def app() -> Committing:
    Embedded("data").log().ensure("in", PARTITIONS)
    return Committing(Path("c").absolute(), COUNTS)


def produce(count: int) -> None:
    times = pa.array(range(count), pa.int64())
    rows = pa.table({"timestamp": times, "key": [b"k"] * count, "value": [b"v"] * count})
    Embedded("data").log().append("in", 1, rows, producer="test", batch=0)


def commit(app: Committing, *, seconds_ago: int) -> None:
    positions = {TopicPartition("in", 1): READ}
    wall_ms = SystemClock().now_ms() - 1_000 * seconds_ago
    app.commits.append(Commit(0, "run", wall_ms, {}, positions=positions))


def checked(*options: str) -> tuple[int, str]:
    result = kstreams("health", "viewed", "--checkpoint", "c", *options)
    return result.exit_code, " ".join((result.stdout + result.stderr).split())


def test_app_with_recent_commits_is_healthy(app: Committing) -> None:
    produce(READ + 9)
    commit(app, seconds_ago=30)
    assert checked() == (0, "viewed is healthy")
    assert checked("--max-age", "5s")[0] == 1


def test_app_without_input_is_healthy_whatever_the_age_of_its_commit(app: Committing) -> None:
    produce(READ)
    commit(app, seconds_ago=9_999)
    assert checked()[0] == 0


def test_app_with_unread_records_and_no_recent_commit_is_unhealthy(app: Committing) -> None:
    produce(READ + 2)
    commit(app, seconds_ago=9_999)
    said = "query 'in' has 2 unread records, and no commit since batch 0"
    assert checked() == (1, f"✗ {said}")
    code, text = checked("--json")
    (query,) = json.loads(text)["queries"]
    assert (code, query["healthy"], query["records_waiting"]) == (1, False, 2)


def test_app_without_a_commit_is_unhealthy() -> None:
    assert checked()[0] == 0
    produce(3)
    assert checked() == (1, "✗ query 'in' has 3 unread records, and no commit")


def test_paused_app_is_healthy_and_shows_the_reason(app: Committing) -> None:
    produce(READ + 2)
    commit(app, seconds_ago=9_999)
    assert kstreams("pause", "viewed", "--reason", "a move", "--checkpoint", "c").exit_code == 0
    assert checked() == (0, "viewed is paused: a move")
    assert json.loads(checked("--json")[1])["paused"] is True
    assert "Resumed viewed." in kstreams("resume", "viewed", "--checkpoint", "c").stdout
    assert checked()[0] == 1


def report_waiting(*, waiting: int, seconds_ago: int = 0) -> None:
    """Write a report of the app about its position in a log, and the records that wait in it."""
    written_ms = SystemClock().now_ms() - 1_000 * seconds_ago
    unread = {TopicPartition("in", 1): Unread(READ, READ + waiting)}
    query = LiveQuery(0, "job", 5, 0, unread, written_ms, {"in": RetainedSize(3_000, 500)})
    live = Live("viewed", "run", "running", 5, written_ms, 1_000, queries={"in": query})
    node = NodeOutline("in", "source", "in", log="changes of a table")
    outline = Outline("viewed", "", (GroupOutline("in", "in", PARTITIONS, (node,)),))
    files = home_of(Path("c").absolute()).telemetry()
    files.replace(LIVE, to_bytes(live.to_json()))
    files.replace(TOPOLOGY, to_bytes(outline.to_json()))


def test_health_reads_unread_records_of_log_from_last_report_of_app(app: Committing) -> None:
    produce(READ + 9)  # of a topic with the log's name, which the app does not read
    commit(app, seconds_ago=9_999)
    report_waiting(waiting=0)
    assert checked()[0] == 0
    report_waiting(waiting=7)
    said = "query 'in' has 7 unread records, and no commit since batch 0"
    assert checked() == (1, f"✗ {said}")
    (query,) = json.loads(checked("--json")[1])["queries"]
    assert (query["kept_bytes"], query["room_bytes"]) == ({"in": 3_000}, {"in": 500})


def test_app_that_reads_log_and_has_old_report_is_unhealthy(app: Committing) -> None:
    report_waiting(waiting=0, seconds_ago=60)
    commit(app, seconds_ago=30)
    assert checked()[0] == 0
    unknown = "the number of unread records of 'in' is unknown"
    said = f"query 'in' has no commit since batch 0, and {unknown}"
    assert checked("--max-age", "5s") == (1, f"✗ {said}")
    (query,) = json.loads(checked("--max-age", "5s", "--json")[1])["queries"]
    assert (query["healthy"], query["records_waiting"]) == (False, None)
