"""Lost connections at each step, and unreachable servers."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest
from pymongo import errors
from pymongo.collection import Collection

from devtools.servers.ports import free_ports
from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_mongodb import MongoCollection
from tests.connectors.kstreams_mongodb.collections import Place
from tests.support.sinks.sink_writes import CutConnection, commit_of, given

pytestmark = pytest.mark.connectors

SHORT = timedelta(milliseconds=200)


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("asked", ["update_one", "bulk_write"])
def test_mongodb_sink_writes_all_documents_whichever_request_loses_its_connection(
    place: Place, monkeypatch: pytest.MonkeyPatch, asked: str, answered: bool
) -> None:
    pairs = [(n, n) for n in range(1_100)]
    place.sink().prepare()
    for nth in range(2 if asked == "bulk_write" else 1):
        lost = errors.AutoReconnect("connection closed")
        with monkeypatch.context() as patch, closing(place.sink().open()) as writer:
            cut = CutConnection(patch, Collection, asked, lost, nth=nth, answered=answered)
            writer.write(given(*pairs), commit_of(nth))
        assert cut.struck
        assert len(place.documents()) == len(pairs)
        assert {found["kstreams"]["order"] for found in place.totals.find()} == {nth << 16}


def test_unreachable_server_is_reported_without_the_password() -> None:
    (port,) = free_ports(1)
    sink: MongoCollection[str, int] = MongoCollection(
        f"mongodb://app:s3cr%40t@127.0.0.1:{port}/?serverSelectionTimeoutMS=100",
        "d.totals",
        row=lambda _key, total: {"total": total},
        give_up_after=SHORT,
    )
    with pytest.raises(SinkUnavailableError, match="MongoDB does not answer") as told:
        sink.prepare()
    for each in (told.value, sink, sink.label):
        assert "s3cr" not in str(each) + repr(each)


@pytest.mark.parametrize(
    ("url", "collection"),
    [("http://s3cret@h", "d.c"), ("mongodb://h", "d"), ("mongodb://h", "d.$c"), ("", "d.c")],
)
def test_invalid_url_or_collection_is_refused_without_the_secret(url: str, collection: str) -> None:
    with pytest.raises(ValueError, match=r"not a valid MongoDB address|collection name") as told:
        MongoCollection[str, int](url, collection, row=lambda _key, _value: None)
    assert "s3cret" not in str(told.value)


def test_url_refused_by_the_client_shows_no_secret() -> None:
    sink: MongoCollection[str, int] = MongoCollection(
        "mongodb://app:s3cret@[::1/", "d.c", row=lambda _key, _value: None, give_up_after=SHORT
    )
    with pytest.raises(SinkError, match="not a valid MongoDB address") as told:
        sink.prepare()
    assert "s3cret" not in str(told.value)
