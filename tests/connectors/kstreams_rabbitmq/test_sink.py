"""The RabbitMQ stream sink:

results written once and in order after the commit; refusals and losses.
"""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest

from devtools.servers.ports import free_ports
from kstreams import Record
from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_rabbitmq import RabbitStream
from kstreams_rabbitmq.session import Session
from kstreams_testing.sink import GivenResults
from tests.support.sinks.rabbitmq_streams import Place, rows, shown_late
from tests.support.sinks.sink_writes import CutConnection, commit_of, given, write

pytestmark = pytest.mark.connectors

SHORT = timedelta(milliseconds=200)


def test_committed_results_are_in_order_with_their_headers(place: Place) -> None:
    headers = (("a", b"\xff"), ("b", None))
    results = GivenResults([Record("k", 1, 5, headers), *given(("k", 2), ("k", 3)).records()])
    assert write(place.sink(), results) == []
    found = rows(place.log())
    assert [row["value"] for row in found] == [b"k=1", b"k=2", b"k=3"]
    assert [(h["key"], h["value"]) for h in found[0]["headers"]] == list(headers)


def test_results_of_smaller_plan_replace_results_of_larger_plan_of_same_batch(place: Place) -> None:
    sink = place.sink()
    sink.prepare()
    with closing(sink.open()) as writer:
        writer.write(given(("a", 1), ("b", 2), ("c", 3)), commit_of(4))  # never committed
    write(sink, given(("a", 1)), commit_of(4, revision=1))
    write(sink, given(("b", 2), ("c", 3)), commit_of(5))
    assert place.seen() == [("a", 1), ("b", 2), ("c", 3)]


def test_late_publication_of_an_older_driver_is_dropped(place: Place) -> None:
    sink = place.sink()
    sink.prepare()
    with closing(sink.open()) as writer:
        late = writer.write(given(("a", 1)), commit_of(0))
    write(sink, given(("a", 1)), commit_of(0))
    write(sink, given(("a", 2)), commit_of(1))
    sink.publish({commit_of(0): late})
    assert place.seen() == [("a", 1), ("a", 2)]


def test_many_results_of_many_tasks_are_each_written_once(place: Place) -> None:
    sink = place.sink()
    sink.prepare()
    receipts = {}
    for task in range(3):
        with closing(sink.open()) as writer:
            results = given(*((f"{task}", n % 1_000) for n in range(7_000)))
            receipts[commit_of(task=task)] = writer.write(results, commit_of(task=task))
    sink.publish(receipts)
    sink.publish(receipts)
    seen = place.seen()
    assert len(seen) == 21_000
    for task in range(3):
        assert [n for key, n in seen if key == f"{task}"] == [n % 1_000 for n in range(7_000)]


def test_results_without_a_valid_form_are_refused_and_all_others_are_written(place: Place) -> None:
    twice = Record("b", 2, 5, (("a", b"1"), ("a", b"2")))
    results = GivenResults([*given(("a", 1), ("a", 5_000)).records(), twice, Record("z", 9, 5)])
    refused = write(place.sink(), results)
    assert [row.row for row in refused] == [1, 2]
    assert "more than max_bytes=80" in refused[0].reason
    assert "two headers" in refused[1].reason
    assert place.seen() == [("a", 1), ("z", 9)]
    none = place.sink(body=lambda _key, _value: None)
    assert write(none, given(("a", 1)), commit_of(1)) == []


def test_each_result_is_appended_once_whenever_the_connection_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = place.sink()
    sink.prepare()
    struck, batch = True, 0
    for batch, (nth, answered) in enumerate(CutConnection.moments(60)):
        with monkeypatch.context() as patch:
            lost = ConnectionResetError("gone")
            cut = CutConnection(patch, Session, "send", lost, nth=nth, answered=answered)
            write(sink, given(("a", batch), ("b", batch)), commit_of(batch))
        struck = cut.struck
        if not struck:
            break
    assert not struck
    assert place.seen() == [(key, n) for n in range(batch + 1) for key in "ab"]


@pytest.mark.parametrize("looks", range(1, 5))
def test_batch_is_appended_once_while_stream_leader_starts(
    place: Place, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    sink = place.sink()
    sink.prepare()
    for batch in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(Session, "chunks", shown_late(0, looks))
            write(sink, given(("a", batch), ("b", batch)), commit_of(batch))
    assert place.seen() == [(key, batch) for batch in range(2) for key in "ab"]


def test_publish_raises_if_staged_results_are_missing(place: Place) -> None:
    sink = place.sink(give_up_after=SHORT)
    sink.prepare()
    with closing(sink.open()) as writer:
        receipts = writer.write(given(("a", 1)), commit_of())
    place.act(lambda channel: channel.queue_delete(sink.staged))
    sink.prepare()
    with pytest.raises(SinkError, match="that were staged"):
        sink.publish({commit_of(): receipts})
    with pytest.raises(SinkError, match="where staged messages were expected"):
        sink.publish({commit_of(): ["nonsense"]})


def test_broker_limits_are_checked_before_results_are_written(place: Place) -> None:
    with pytest.raises(SinkError, match="StreamDoesNotExist"):
        place.sink(stream="nobody-made-it").prepare()
    with pytest.raises(SinkError, match=r"stream\.frame_max"):
        place.sink(max_bytes=10_000_000).prepare()
    expected = pytest.raises(SinkError, match="at most 200 publishing tasks")
    with closing(place.sink().open()) as writer, expected:
        writer.write(given(("a", 1)), commit_of(task=200))


def test_errors_of_unreachable_broker_and_wrong_password_show_no_secret(place: Place) -> None:
    (port,) = free_ports(1)
    gone = place.sink(give_up_after=SHORT)
    gone = RabbitStream(
        f"rabbitmq-stream://app:s3cr%40t@127.0.0.1:{port}",
        stream="s",
        body=gone.body,
        give_up_after=SHORT,
    )
    wrong = RabbitStream(
        place.url.replace(":guest@", ":s3cr%40t@"), stream=place.stream, body=gone.body
    )
    with pytest.raises(SinkUnavailableError) as unanswered:
        gone.prepare()
    with pytest.raises(SinkError) as refused:
        wrong.prepare()
    assert not isinstance(refused.value, SinkUnavailableError)
    for told in (unanswered.value, refused.value, gone, wrong, gone.label):
        assert "s3cr" not in str(told) + repr(told)
