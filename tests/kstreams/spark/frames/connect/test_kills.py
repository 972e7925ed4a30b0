"""Clients and servers of Spark Connect are killed; each result is written once."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from devtools.servers.spark_connect import SparkConnectServer
from kstreams import Record
from tests.kstreams.spark.frames.connect.client_process import started
from tests.kstreams.spark.frames.test_transform import on_driver
from tests.support.servers.fixtures import ROOT, connect_to
from tests.support.spark import two_sinks_query as two_sinks
from tests.support.spark.file_streams import SETTINGS, Streams, by_topic
from tests.support.topologies.frame_topologies import COUNTS, LINES, word_count

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]

BATCHES = [[Record(b"", f"a b{n % 3} c{n}", 10 * n)] for n in range(16)]
_WITHIN_S = 240


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SparkConnectServer]:
    """A server that the test may kill."""
    with SparkConnectServer(tmp_path / "server", modules=[ROOT]) as running:
        yield running


def client(server: SparkConnectServer, home: Path, stack: ExitStack) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.kstreams.spark.frames.connect.client_process"]
    process = subprocess.Popen([*command, server.url, str(home)], cwd=ROOT)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def commits(home: Path) -> int:
    return sum(not each.name.startswith(".") for each in (home / "checkpoint/commits").glob("*"))


def wait_until(reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not reached():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def streams_on(server: SparkConnectServer, home: Path) -> Streams:
    session = connect_to(server)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return Streams(home, session)


def test_each_result_is_written_once_if_client_or_server_is_killed(
    tmp_path: Path, server: SparkConnectServer
) -> None:
    writing = Streams(tmp_path, connect_to(server))
    for batch in BATCHES:
        writing.write(LINES, batch)
    with ExitStack() as stack:
        first = client(server, tmp_path, stack)
        wait_until(lambda: commits(tmp_path) >= 2, "the first client's query makes no batch")
        first.kill()
        first.wait()
        left = commits(tmp_path)
        wait_until(lambda: commits(tmp_path) >= left + 2, "the query ended with its client")

        client(server, tmp_path, stack)  # the second start takes over the query
        left = commits(tmp_path)
        wait_until(lambda: commits(tmp_path) >= left + 2, "the second client's makes no batch")
        assert commits(tmp_path) < len(BATCHES), "nothing was left to do"
        server.kill()
    server.start()
    streams = streams_on(server, tmp_path)
    started(streams, to_the_end=True).awaitTermination()

    assert by_topic(streams.read(), [COUNTS]) == on_driver(word_count(), LINES, BATCHES, [COUNTS])
    streams.session.stop()


def test_server_killed_between_two_sinks_loses_nothing(
    tmp_path: Path, server: SparkConnectServer
) -> None:
    streams = streams_on(server, tmp_path)
    for batch in two_sinks.BATCHES:
        streams.write(LINES, batch)
    two_sinks.started(streams, two_sinks.block)
    wait_until((tmp_path / "reached").exists, "the second sink is never reached")
    server.kill()
    server.start()
    streams = streams_on(server, tmp_path)
    two_sinks.started(streams, two_sinks.fail).awaitTermination()
    assert two_sinks.found(streams) == two_sinks.EXPECTED
    streams.session.stop()
