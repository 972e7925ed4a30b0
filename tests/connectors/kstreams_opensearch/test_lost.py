"""Lost requests at each step, and nodes that are unreachable or refuse."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest

from devtools.servers.ports import free_ports
from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_opensearch import SearchIndex
from kstreams_rows.http import HttpServer
from tests.connectors.kstreams_opensearch.indexes import Index
from tests.support.sinks.sink_writes import CutConnection, commit_of, given

pytestmark = pytest.mark.connectors

SHORT = timedelta(milliseconds=200)


def test_opensearch_sink_writes_all_documents_whichever_request_is_lost(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = index.sink()
    sink.prepare()
    struck = True
    for batch, (nth, answered) in enumerate(CutConnection.moments(10)):
        pairs = [(f"k{n}", n + batch) for n in range(1_100)]
        lost = ConnectionResetError("lost")
        with monkeypatch.context() as patch, closing(sink.open()) as writer:
            cut = CutConnection(patch, HttpServer, "ask", lost, nth=nth, answered=answered)
            writer.write(given(*pairs), commit_of(batch, epoch="lost"))
        assert {key: found["total"] for key, found in index.documents().items()} == dict(pairs)
        struck = cut.struck
        if not struck:
            break
    assert not struck


def test_unreachable_node_is_reported_without_the_secret() -> None:
    (port,) = free_ports(1)
    sink: SearchIndex[str, int] = SearchIndex(
        f"http://app:s3cr%40t@127.0.0.1:{port}",
        "totals",
        row=lambda _key, total: {"total": total},
        headers={"X-Key": "s3cret-too"},
        give_up_after=SHORT,
    )
    with pytest.raises(SinkUnavailableError, match="OpenSearch does not answer") as told:
        sink.prepare()
    for each in (told.value, sink, sink.label):
        assert "s3cr" not in str(each) + repr(each)


def test_invalid_index_name_is_reported_at_the_start(index: Index) -> None:
    sink = SearchIndex[str, int](index.url, "UPPER", row=lambda _key, total: {"total": total})
    with pytest.raises(SinkError, match="there is no index"):
        sink.prepare()
