"""Lost connections at each step, and unreachable nodes."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest
from cassandra import OperationTimedOut
from cassandra.cluster import Session

from devtools.servers.ports import free_ports
from kstreams.errors import SinkUnavailableError
from kstreams_cassandra import CassandraTable
from tests.connectors.kstreams_cassandra.tables import Place
from tests.support.sinks.sink_writes import CutConnection, commit_of, given

pytestmark = pytest.mark.connectors


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("nth", [0, 2, 3, 5, 20])
def test_cassandra_sink_writes_all_rows_whichever_request_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch, nth: int, answered: bool
) -> None:
    place.make()
    place.sink().prepare()
    pairs = [(f"k{n:02}", n) for n in range(50)]
    with closing(place.sink().open()) as writer:
        writer.write(given(("deleted", 1)), commit_of(0))
    with monkeypatch.context() as patch, closing(place.sink().open()) as writer:
        cut = CutConnection(
            patch, Session, "execute_async", OperationTimedOut("lost"), nth=nth, answered=answered
        )
        writer.write(given(*pairs, ("deleted", None)), commit_of(1))
    assert cut.struck
    assert place.rows() == pairs


def test_unreachable_node_is_reported_without_the_password() -> None:
    (port,) = free_ports(1)
    sink: CassandraTable[str, int] = CassandraTable(
        ["127.0.0.1"],
        "k.totals",
        key=("word",),
        row=lambda _word, total: {"total": total},
        port=port,
        user="app",
        password="s3cret",
        give_up_after=timedelta(milliseconds=200),
    )
    with pytest.raises(SinkUnavailableError, match="Cassandra does not answer") as told:
        sink.prepare()
    for each in (told.value, sink, sink.label):
        assert "s3cret" not in str(each) + repr(each)


@pytest.mark.parametrize(
    ("hosts", "table", "key", "text"),
    [
        ([], "k.t", ("a",), "hosts must be a list of one or more"),
        ("host", "k.t", ("a",), "hosts must be a list of one or more"),
        (["h"], "t", ("a",), r"expected keyspace\.table .* got 't'"),
        (["h"], "k.t", (), r"key=\(\): expected one or more column names"),
    ],
)
def test_invalid_table_or_hosts_are_refused(
    hosts: list[str], table: str, key: tuple[str, ...], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        CassandraTable[str, int](hosts, table, key=key, row=lambda _key, _value: None)
