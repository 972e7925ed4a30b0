"""Messages of a RabbitMQ stream as records; retention; replaced streams."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from rstream import AMQPMessage

from devtools.servers.ports import free_ports
from devtools.servers.rabbit import RabbitServer
from devtools.servers.skipping import or_skip
from kstreams import TEXT
from kstreams.errors import (
    DataLossError,
    SourceError,
    SourceUnavailableError,
    TopicRecreatedError,
)
from kstreams_rabbitmq import RabbitStreamLog
from kstreams_rabbitmq.address import Address
from kstreams_rabbitmq.messages import message_of, written
from kstreams_rabbitmq.publishing import publish
from kstreams_rabbitmq.session import Session
from tests.support.sinks.rabbitmq_streams import ALL, Place, rows, shown_late
from tests.support.sinks.sink_writes import CutConnection, commit_of, given

pytestmark = pytest.mark.connectors

SHORT = timedelta(milliseconds=200)
RESTART = timedelta(seconds=60)


def test_bodies_are_values_and_application_properties_are_headers(place: Place) -> None:
    place.add_by_amqp(b"tea", {"word": "a", "n": 7, "raw": b"\xff"})
    place.add(b"x" * 300)
    first, second = rows(place.log(key=TEXT, key_property="word"))
    assert (first["key"], first["value"]) == (b"a", b"tea")
    assert {h["key"]: h["value"] for h in first["headers"]} == {"n": b"7", "raw": b"\xff"}
    assert (second["key"], second["value"], second["headers"]) == (None, b"x" * 300, None)


def test_amqp_body_of_each_kind_is_decoded_or_refused_with_a_reason() -> None:
    def fields_of(**given: Any) -> tuple[bytes, str]:
        found = message_of(bytes(AMQPMessage(**given)))
        return found.body, found.wrong

    assert fields_of(body=b"a") == (b"a", "")
    assert fields_of(value="text") == (b"text", "")
    assert fields_of(value=5) == (b"5", "")
    assert "sequence" in fields_of(sequence=[[1]])[1]
    assert message_of(written(b"a", ()) + written(b"b", ())).body == b"ab"
    for bad in (
        b"",
        b"nonsense",
        written(b"abc", ())[:-1],
        b"\0\x53\x75",
        b"\0\x53\x74\xc1\x02\x01\xff",
    ):
        assert message_of(bad).wrong


def test_invalid_message_is_unreadable_and_others_are_read(place: Place) -> None:
    with closing(Session(Address.of(place.url), place.stream)) as session:
        publish(session, place.stream, [(0, b"nonsense"), (1, written(b"good", ()))])
    bad, good = rows(place.log())
    assert "not a valid AMQP 1.0 message" in bad["unreadable"]
    assert (good["value"], good["unreadable"]) == (b"good", None)


def test_messages_deleted_by_retention_before_reading_are_counted(place: Place) -> None:
    place.make(x_max_length_bytes=20_000, x_stream_max_segment_size_bytes=10_000)
    log = place.log()
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        place.add(*[b"x" * 1_000] * 5)
        _ = contents.log_id
        (piece,) = contents.pieces(0, 0, contents.ends()[0])
        for _ in range(20):
            place.add(*[b"x" * 1_000] * 5)
        begins = contents.beginnings()[0]
        assert begins > piece.stop
        with pytest.raises(DataLossError, match=f"^{piece.stop} messages of stream"):
            reader.read(piece, max_bytes=ALL)
        while True:  # the broker may delete another segment meanwhile
            begins = contents.beginnings()[0]
            (piece,) = contents.pieces(0, begins - 2, contents.ends()[0])
            with pytest.raises(DataLossError) as lost:
                reader.read(piece, max_bytes=ALL)
            if contents.beginnings()[0] == begins:
                break
        assert lost.value.message.startswith("2 messages of stream")
    assert len(rows(log)) > 10


def test_recreated_stream_has_another_log_id(place: Place) -> None:
    log = place.log()
    place.add(b"a", b"b")
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        old = contents.log_id
        (piece,) = contents.pieces(0, 0, contents.ends()[0])
        assert reader.read(piece, max_bytes=ALL).num_rows == 2
        place.make()
        place.add(b"c")
        with pytest.raises(TopicRecreatedError, match="created again") as told:
            contents.ends()
        assert (told.value.expected, told.value.found) == (old, contents.log_id)
        with pytest.raises(DataLossError, match="created again"):
            reader.read(piece, max_bytes=ALL)
    assert [row["value"] for row in rows(log)] == [b"c"]


def test_missing_stream_is_a_source_error(place: Place) -> None:
    with pytest.raises(SourceError, match="StreamDoesNotExist") as told:
        rows(place.log(stream="nobody-made-it"))
    assert not isinstance(told.value, SourceUnavailableError)
    with pytest.raises(SourceError, match="StreamDoesNotExist"):
        rows(place.log(stream="nobody-made-it", super_stream=True))


@pytest.mark.parametrize("answered", [False, True])
def test_log_reads_the_same_rows_whenever_the_connection_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    place.add(*(b"%d" % n for n in range(30)))
    expected = rows(place.log())
    for nth in range(40):
        with monkeypatch.context() as patch:
            lost = ConnectionResetError("gone")
            cut = CutConnection(patch, Session, "send", lost, nth=nth, answered=answered)
            assert rows(place.log()) == expected
        if not cut.struck:
            return
    raise AssertionError("it asks more often than was thought")


def test_errors_of_unreachable_broker_and_wrong_password_show_no_secret(place: Place) -> None:
    (port,) = free_ports(1)
    gone = RabbitStreamLog(
        f"rabbitmq-stream://app:s3cr%40t@127.0.0.1:{port}",
        name="s",
        stream="s",
        key=TEXT,
        value=TEXT,
        give_up_after=SHORT,
    )
    wrong = RabbitStreamLog(
        place.url.replace(":guest@", ":s3cr%40t@"), name="s", stream="s", key=TEXT, value=TEXT
    )
    with pytest.raises(SourceUnavailableError) as unanswered:
        rows(gone)
    with pytest.raises(SourceError, match="AuthenticationFailure") as refused:
        rows(wrong)
    assert not isinstance(refused.value, SourceUnavailableError)
    for told in (unanswered.value, refused.value, gone, wrong, gone.label):
        assert "s3cr" not in str(told) + repr(told)


@pytest.mark.parametrize("url", ["http://:s3cret@h", "rabbitmq-stream://:s3cret@h:port", "s3cret"])
def test_invalid_url_is_refused_without_the_secret(url: str) -> None:
    with pytest.raises(ValueError, match="rabbitmq-stream://") as told:
        RabbitStreamLog(url, name="s", stream="s", key=TEXT, value=TEXT)
    assert "s3cret" not in str(told.value)


@pytest.mark.parametrize("most", [0, 1])
@pytest.mark.parametrize("looks", [1, 3])
def test_log_repeats_a_read_until_the_starting_stream_leader_returns_all_messages(
    place: Place, monkeypatch: pytest.MonkeyPatch, looks: int, most: int
) -> None:
    """The broker replies, and shows nothing of the stream yet, or only a part."""
    place.add(b"a")
    place.add(b"b")
    log = place.log()
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        known = contents.log_id
        (piece,) = contents.pieces(0, 0, contents.ends()[0])
        with monkeypatch.context() as patch:
            patch.setattr(Session, "chunks", shown_late(most, looks))
            assert contents.ends() == {0: 2}
        assert contents.log_id == known
        first = contents.first_since(0, 0)
        assert first is not None
        for since in (0, first[1]):
            with monkeypatch.context() as patch:
                patch.setattr(Session, "chunks", shown_late(0, looks))
                assert contents.first_since(0, since) == first
        with monkeypatch.context() as patch:
            patch.setattr(Session, "chunks", shown_late(most, looks))
            assert reader.read(piece, max_bytes=ALL).num_rows == 2


def test_stream_that_remains_shorter_than_before_raises_data_loss_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.add(b"a", b"b")
    log = place.log(give_up_after=SHORT)
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        _ = contents.log_id
        (piece,) = contents.pieces(0, 0, contents.ends()[0])
        monkeypatch.setattr(Session, "chunks", shown_late(0, looks=1_000))
        with pytest.raises(DataLossError, match="ended at offset 2, and ends at offset 0 now"):
            contents.ends()
        with pytest.raises(DataLossError, match=r"2 messages .* were deleted"):
            reader.read(piece, max_bytes=ALL)


@pytest.mark.timeout(300)
def test_repeated_broker_restarts_lose_and_repeat_no_message() -> None:
    """The client sends requests while the broker starts, over earlier connections."""
    with or_skip(RabbitServer) as server:
        place = Place(server.stream_url, server.url)
        sink, log = place.sink(give_up_after=RESTART), place.log(give_up_after=RESTART)
        sink.prepare()
        server.settle()
        found: list[str] = []
        with (
            closing(sink.open()) as writer,
            closing(log.contents()) as contents,
            closing(log.reader()) as reader,
        ):
            for batch in range(6):
                starting = Thread(target=server.start) if batch else Thread()
                if batch:
                    server.kill()
                starting.start()
                commit = commit_of(batch)
                receipts = writer.write(given(*((f"{batch}", n) for n in range(50))), commit)
                sink.publish({commit: receipts})
                for piece in contents.pieces(0, len(found), contents.ends()[0]):
                    rows = reader.read(piece, max_bytes=ALL).column("value").to_pylist()
                    found += [value.decode().strip() for value in rows]
                starting.join()
        assert found == [f"{batch}={n}" for batch in range(6) for n in range(50)]


def test_broker_that_dies_fails_the_batch() -> None:
    with or_skip(RabbitServer) as server:
        place = Place(server.stream_url, server.url)
        place.add(b"a", b"b")
        log = place.log(give_up_after=SHORT)
        with closing(log.contents()) as contents, closing(log.reader()) as reader:
            (piece,) = contents.pieces(0, 0, contents.ends()[0])
            server.kill()
            with pytest.raises(SourceUnavailableError, match="does not answer"):
                contents.ends()
            with pytest.raises(SourceUnavailableError, match="does not answer"):
                reader.read(piece, max_bytes=ALL)
