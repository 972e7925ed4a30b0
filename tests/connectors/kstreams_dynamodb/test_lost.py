"""Lost connections at each step, and an unreachable server."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import timedelta

import pytest
from botocore import exceptions
from botocore.client import BaseClient

from devtools.servers.ports import free_ports
from kstreams.errors import SinkUnavailableError
from tests.connectors.kstreams_dynamodb.tables import SECRET, Tables
from tests.support.sinks.sink_writes import CutConnection, commit_of, given

pytestmark = pytest.mark.connectors

PAIRS = [(f"k{n}", n) for n in range(150)]


def test_all_items_and_one_fence_item_are_written_whichever_request_fails(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.make("word")
    sink = tables.sink()
    sink.prepare()
    struck = True
    for batch, (nth, answered) in enumerate(CutConnection.moments(20)):
        lost = exceptions.EndpointConnectionError(endpoint_url="")
        pairs = [(key, number + batch) for key, number in PAIRS]
        with monkeypatch.context() as patch, closing(sink.open()) as writer:
            cut = CutConnection(
                patch, BaseClient, "_make_api_call", lost, nth=nth, answered=answered
            )
            writer.write(given(*pairs), commit_of(batch))
        assert {item["word"]: item["total"] for item in tables.items()} == dict(pairs)
        struck = cut.struck
        if not struck:
            break
    assert not struck
    (fence,) = tables.items(f"{tables.name}-fence")
    assert str(fence["position"]).startswith(f"{batch}:0:{len(PAIRS)}:")


def test_concurrent_writers_of_same_item_all_succeed(tables: Tables) -> None:
    tables.make("word")
    sink = tables.sink()
    sink.prepare()
    failures: list[BaseException] = []

    def task(number: int) -> None:
        try:
            with closing(sink.open()) as writer:
                for batch in range(3):
                    writer.write(given(*PAIRS[:50]), commit_of(batch, task=number))
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=task, args=(number % 2,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(tables.items()) == 50


def test_unreachable_server_is_reported_without_the_secret() -> None:
    (port,) = free_ports(1)
    sink = Tables(f"http://127.0.0.1:{port}").sink(give_up_after=timedelta(milliseconds=200))
    with pytest.raises(SinkUnavailableError, match="DynamoDB does not answer") as told:
        sink.prepare()
    for each in (told.value, sink, sink.label):
        assert SECRET not in str(each) + repr(each)
