"""Entries of a Redis stream as records; trimmed, deleted and renumbered entries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any, Literal

import pytest
from redis import exceptions

from devtools.servers.ports import free_ports
from devtools.servers.redis import RedisServer
from devtools.servers.skipping import or_skip
from kstreams import NONE, TEXT
from kstreams.errors import (
    DataLossError,
    SourceError,
    SourceUnavailableError,
    TopicRecreatedError,
)
from kstreams_redis import RedisStreamLog
from kstreams_redis.server import Server
from tests.support.sinks.redis_database import Place
from tests.support.sinks.sink_writes import CutConnection

pytestmark = pytest.mark.slow

SHORT = timedelta(milliseconds=200)
ALL = 1 << 60
INDEX = "kstreams:log:s"


@pytest.fixture(scope="session")
def counting_server() -> Iterator[RedisServer]:
    """A server of a version that counts added entries; never stop it, but empty it."""
    with or_skip(RedisServer.of_debian) as running:
        yield running


def log_of(
    url: str,
    *,
    value: str | None = "n",
    key: str | None = None,
    deleted: Literal["fail", "pass"] = "fail",
    give_up_after: timedelta = timedelta(seconds=20),
) -> RedisStreamLog[Any, Any]:
    return RedisStreamLog(
        url,
        name="s",
        streams=["s"],
        key=NONE if key is None else TEXT,
        value=TEXT,
        key_field=key,
        value_field=value,
        deleted=deleted,
        give_up_after=give_up_after,
    )


def add(place: Place, *numbers: int) -> None:
    for number in numbers:
        place.ask("XADD", "s", "*", "n", number)


def rows(
    log: RedisStreamLog[Any, Any], start: int | None = None, stop: int | None = None
) -> list[dict[str, Any]]:
    """Return the records of the stream between two offsets."""
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        end = contents.ends()[0] if stop is None else stop
        begin = contents.beginnings()[0] if start is None else start
        return [
            row
            for piece in contents.pieces(0, begin, end)
            for row in reader.read(piece, max_bytes=ALL).to_pylist()
        ]


def numbers(log: RedisStreamLog[Any, Any], start: int | None = None) -> dict[int, int]:
    return {row["offset"]: int(row["value"]) for row in rows(log, start)}


def test_entry_fields_become_key_value_and_headers(redis: Place) -> None:
    redis.ask("XADD", "s", "5-1", "k", "a", "v", "1", "trace", "t")
    redis.ask("XADD", "s", "7-0", "v", "2", "k", "b")
    found = rows(log_of(redis.url, key="k", value="v"))
    assert [(r["offset"], r["timestamp"], r["key"], r["value"]) for r in found] == [
        (0, 5, b"a", b"1"),
        (1, 7, b"b", b"2"),
    ]
    assert [r["headers"] for r in found] == [[{"key": "trace", "value": b"t"}], None]
    whole = rows(log_of(redis.url, value=None))
    assert [row["value"] for row in whole] == [
        b'{"k": "a", "v": "1", "trace": "t"}',
        b'{"v": "2", "k": "b"}',
    ]


def test_invalid_entries_are_unreadable_and_others_are_read(redis: Place) -> None:
    redis.ask("XADD", "s", "*", "k", "a", "n", "1")
    redis.ask("XADD", "s", "*", "k", "a")
    redis.ask("XADD", "s", "*", "n", "2")
    redis.ask("XADD", "s", "*", "k", "a", "n", "1", "n", "2")
    redis.ask("XADD", "s", "*", "k", "a", "n", "1", b"\xff", "2")  # type: ignore[arg-type]  # bytes
    said = [row["unreadable"] for row in rows(log_of(redis.url, key="k"))]
    assert said[0] is None
    for part, text in zip(
        ("'n', the value", "'k', the key", "several", "UTF-8"), said[1:], strict=True
    ):
        assert part in text
    assert "UTF-8" in rows(log_of(redis.url, value=None))[4]["unreadable"]


def test_entries_trimmed_before_reading_are_counted(redis: Place) -> None:
    add(redis, *range(10))
    log = log_of(redis.url)
    with closing(log.contents()) as contents:
        assert contents.ends() == {0: 10}
        redis.ask("XTRIM", "s", "MAXLEN", 7)
        assert contents.ends() == {0: 10}
        assert contents.beginnings() == {0: 3}
    assert numbers(log, 3) == {n: n for n in range(3, 10)}
    with pytest.raises(DataLossError, match=r"^3 entries of stream 's' were deleted"):
        rows(log, 0)
    redis.ask("XTRIM", "s", "MAXLEN", 0)
    with closing(log.contents()) as contents:
        assert contents.beginnings() == {0: 10}
    with pytest.raises(DataLossError, match="7 entries"):
        rows(log, 3)


def test_deleted_entry_raises_data_loss_error_or_is_skipped_by_option(
    redis: Place, caplog: pytest.LogCaptureFixture
) -> None:
    add(redis, *range(6))
    with closing(log_of(redis.url).contents()) as contents:
        contents.ends()
    third = redis.ask("XRANGE", "s", "-", "+")[2][0]
    redis.ask("XDEL", "s", third)
    with pytest.raises(DataLossError, match="1 entries"):
        rows(log_of(redis.url), 0)
    assert numbers(log_of(redis.url), 3) == {3: 3, 4: 4, 5: 5}
    passing = log_of(redis.url, deleted="pass")
    assert numbers(passing, 0) == {0: 0, 1: 1, 3: 3, 4: 4, 5: 5}
    assert "1 entries of stream 's'" in caplog.text


def test_entries_trimmed_before_their_offsets_are_assigned_raise_data_loss_error(
    redis: Place,
) -> None:
    log = log_of(redis.url)
    add(redis, 0, 1)
    assert numbers(log) == {0: 0, 1: 1}
    add(redis, 2, 3, 4)
    redis.ask("XTRIM", "s", "MAXLEN", 1)
    with pytest.raises(DataLossError, match=r"at least 1 entries|^2 entries"):
        rows(log, 2)
    assert list(numbers(log).values()) == [4]


@pytest.mark.connectors
def test_trimmed_entries_are_counted_exactly_if_server_counts_added_entries(
    counting_server: RedisServer,
) -> None:
    place = Place(counting_server.url)
    log = log_of(place.url)
    add(place, *range(5))
    place.ask("XTRIM", "s", "MAXLEN", 3)  # before the first read: not counted
    assert numbers(log) == {0: 2, 1: 3, 2: 4}
    add(place, *range(5, 20))
    place.ask("XTRIM", "s", "MAXLEN", 4)
    with closing(log.contents()) as contents:
        assert contents.ends() == {0: 18}
        assert contents.beginnings() == {0: 14}
    with pytest.raises(DataLossError, match=r"^11 entries of stream"):
        rows(log, 3)
    assert numbers(log, 14) == {n: n + 2 for n in range(14, 18)}
    add(place, 20)
    place.ask("XTRIM", "s", "MAXLEN", 0)
    with closing(log.contents()) as contents:
        assert contents.ends() == {0: 19} == contents.beginnings()
    assert numbers(log_of(place.url, deleted="pass"), 0) == {}


def test_recreated_stream_has_another_log_id(redis: Place) -> None:
    log = log_of(redis.url)
    add(redis, 0, 1)
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        old = contents.log_id
        (piece,) = contents.pieces(0, 0, 2)
        redis.ask("DEL", "s")
        add(redis, 7, 8, 9)
        with pytest.raises(TopicRecreatedError, match="created again") as told:
            contents.ends()
        assert (told.value.expected, told.value.found) == (old, contents.log_id)
        with pytest.raises(DataLossError, match="created again"):
            reader.read(piece, max_bytes=ALL)
    assert numbers(log) == {0: 7, 1: 8, 2: 9}


@pytest.mark.parametrize("lost", ["the numbers", "entries"])
def test_stream_restored_from_backup_has_another_log_id(redis: Place, lost: str) -> None:
    log = log_of(redis.url)
    add(redis, 0, 1)
    assert numbers(log) == {0: 0, 1: 1}
    with closing(log.contents()) as contents:
        old = contents.log_id
        if lost == "entries":
            redis.ask("COPY", "s", "kept")
            add(redis, 2)
            contents.ends()
            redis.ask("RENAME", "kept", "s")
        else:
            redis.ask("DEL", INDEX)
    with closing(log.contents()) as contents:
        assert contents.log_id != old
    assert numbers(log) == {0: 0, 1: 1}


def test_offset_index_covers_many_entries_and_shrinks_when_stream_is_trimmed(redis: Place) -> None:
    log = log_of(redis.url)
    script = "for i = 0, 12499 do redis.call('XADD', KEYS[1], '*', 'n', i) end"
    redis.ask("EVAL", script, 1, "s")
    assert numbers(log) == {n: n for n in range(12_500)}
    assert redis.ask("HLEN", INDEX) == 13 + len(("id", "count", "first", "holes", "last"))
    redis.ask("XTRIM", "s", "MAXLEN", 1_500)
    assert numbers(log) == {n: n for n in range(11_000, 12_500)}
    assert redis.ask("HLEN", INDEX) == 2 + len(("id", "count", "first", "holes", "last"))
    with pytest.raises(DataLossError, match="1000 entries"):
        rows(log, 500, 1_500)


def test_reading_the_log_does_not_affect_consumer_groups(redis: Place) -> None:
    add(redis, 0, 1)
    redis.ask("XGROUP", "CREATE", "s", "theirs", "0")
    assert numbers(log_of(redis.url)) == {0: 0, 1: 1}
    assert len(redis.ask("XREADGROUP", "GROUP", "theirs", "me", "STREAMS", "s", ">")[0][1]) == 2


def test_entries_keep_their_offsets_whenever_the_connection_is_lost(
    redis: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    struck = True
    for nth, answered in CutConnection.moments(20):
        redis.ask("FLUSHALL")
        add(redis, *range(5))
        lost = exceptions.ConnectionError("Connection closed by server.")
        with monkeypatch.context() as patch:
            cut = CutConnection(patch, Server, "command", lost, nth=nth, answered=answered)
            assert numbers(log_of(redis.url)) == {n: n for n in range(5)}
        struck = cut.struck
        if not struck:
            break
    assert not struck


def test_key_that_is_not_a_valid_stream_is_a_source_error(redis: Place) -> None:
    redis.ask("SET", "s", "text")
    with pytest.raises(SourceError, match="WRONGTYPE"):
        rows(log_of(redis.url))
    redis.ask("DEL", "s")
    redis.ask("XADD", "s", f"{2**60}-1", "n", 1)
    with pytest.raises(SourceError, match="no time"):
        rows(log_of(redis.url))


def test_errors_of_unreachable_server_and_wrong_password_show_no_secret(redis: Place) -> None:
    (port,) = free_ports(1)
    gone = log_of(f"redis://app:s3cr%40t@127.0.0.1:{port}/0", give_up_after=SHORT)
    wrong = log_of(redis.url.replace("pw-of-tests", "s3cr%40t"), give_up_after=SHORT)
    with pytest.raises(SourceUnavailableError) as unanswered:
        rows(gone)
    with pytest.raises(SourceError) as refused:
        rows(wrong)
    assert not isinstance(refused.value, SourceUnavailableError)
    for told in (unanswered.value, refused.value, gone, wrong, gone.label):
        assert "s3cr" not in str(told) + repr(told)


def test_invalid_streams_and_url_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="each once"):
        RedisStreamLog("redis://h", name="s", streams=["a", "a"], key=NONE, value=TEXT)
    with pytest.raises(ValueError, match="each once"):
        RedisStreamLog("redis://h", name="s", streams=[], key=NONE, value=TEXT)
    with pytest.raises(ValueError, match="not a valid Redis address"):
        RedisStreamLog("http://:s3cret@h", name="s", streams=["a"], key=NONE, value=TEXT)
