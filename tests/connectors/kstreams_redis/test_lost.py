"""Lost connections at each step, servers that are unreachable or refuse."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from redis import exceptions

from devtools.servers.ports import free_ports
from devtools.servers.redis import RedisServer
from devtools.servers.skipping import or_skip
from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_redis import RedisKeys, RedisStream
from kstreams_redis.server import Server
from tests.support.sinks.redis_database import Place
from tests.support.sinks.sink_writes import CutConnection, commit_of, given, write

pytestmark = pytest.mark.slow

LONG = timedelta(seconds=20)
SHORT = timedelta(milliseconds=200)
PAIRS = [(f"k{n}", n) for n in range(510)]


def _number(_key: str, value: int) -> int:
    return value


def _entry(_key: str, value: int) -> dict[str, int]:
    return {"n": value}


def _lost(patch: pytest.MonkeyPatch, nth: int, *, answered: bool) -> CutConnection:
    lost = exceptions.ConnectionError("Connection closed by server.")
    return CutConnection(patch, Server, "command", lost, nth=nth, answered=answered)


@pytest.mark.long
def test_stream_sink_writes_each_entry_once_whenever_the_connection_is_lost(
    redis: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that was appended twice would be visible; the last moment is after the last call."""
    sink: RedisStream[str, int] = RedisStream(
        redis.url, stream="s", fields=_entry, give_up_after=LONG
    )
    sink.prepare()
    struck = True
    for batch, (nth, answered) in enumerate(CutConnection.moments(30)):
        redis.ask("DEL", "s")
        with monkeypatch.context() as patch:
            cut = _lost(patch, nth, answered=answered)
            write(sink, given(*PAIRS), commit_of(batch))
        assert [int(entry["n"]) for entry in redis.entries("s")] == [n for _, n in PAIRS]
        struck = cut.struck
        if not struck:
            break
    assert not struck


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("nth", range(2))
def test_keys_sink_writes_all_keys_although_the_connection_is_lost_meanwhile(
    redis: Place, monkeypatch: pytest.MonkeyPatch, nth: int, answered: bool
) -> None:
    sink: RedisKeys[str, int] = RedisKeys(redis.url, value=_number, prefix="p:", give_up_after=LONG)
    with monkeypatch.context() as patch, closing(sink.open()) as writer:
        cut = _lost(patch, nth, answered=answered)
        writer.write(given(*PAIRS), commit_of())
    assert cut.struck
    assert len(redis.names("p:")) == len(PAIRS)


def test_server_that_dies_fails_the_batch_and_is_written_to_after_its_restart() -> None:
    with or_skip(RedisServer) as server:
        sink: RedisKeys[str, int] = RedisKeys(
            server.url, value=_number, prefix="p:", give_up_after=SHORT
        )
        write(sink, given(("a", 1)), commit_of(0))
        with closing(sink.open()) as writer:
            writer.write(given(("a", 2)), commit_of(1))
            server.kill()
            with pytest.raises(SinkUnavailableError, match="Redis does not answer"):
                writer.write(given(("a", 3)), commit_of(2))
        server.start()
        write(sink, given(("a", 3)), commit_of(2))
        write(sink, given(("a", 1)), commit_of(0))
        assert int(_asked(server.url, "GET", "p:a")) == 3


def _asked(url: str, *command: str) -> Any:
    import redis

    with redis.Redis.from_url(url) as asked:
        return asked.execute_command(*command)


def test_errors_of_unreachable_server_and_wrong_password_show_no_secret(redis: Place) -> None:
    (port,) = free_ports(1)
    gone = RedisKeys[str, int](
        f"redis://app:s3cr%40t@127.0.0.1:{port}/0", value=_number, give_up_after=SHORT
    )
    wrong = RedisKeys[str, int](
        redis.url.replace("pw-of-tests", "s3cr%40t"), value=_number, give_up_after=SHORT
    )
    with pytest.raises(SinkUnavailableError) as unanswered:
        gone.prepare()
    with pytest.raises(SinkError) as refused:
        wrong.prepare()
    assert not isinstance(refused.value, SinkUnavailableError)
    for told in (unanswered.value, refused.value, gone, wrong, gone.label):
        assert "s3cr" not in str(told) + repr(told)


@pytest.mark.parametrize("url", ["http://:s3cret@host", "redis://:s3cret@host:port", "s3cret"])
def test_invalid_url_is_refused_without_the_secret(url: str) -> None:
    with pytest.raises(ValueError, match="not a valid Redis address") as told:
        RedisKeys[str, int](url, value=_number)
    assert "s3cret" not in str(told.value)


def test_server_without_memory_fails_the_batch(redis: Place) -> None:
    sink: RedisKeys[str, int] = RedisKeys(redis.url, value=_number, give_up_after=SHORT)
    redis.ask("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(SinkUnavailableError, match="memory"):
            write(sink, given(("a", 1)))
    finally:
        redis.ask("CONFIG", "SET", "maxmemory", "128mb")
    assert write(sink, given(("a", 1))) == []


def test_publish_raises_if_staged_entries_are_missing(redis: Place) -> None:
    sink: RedisStream[str, int] = RedisStream(redis.url, stream="s", fields=_entry)
    with closing(sink.open()) as writer:
        receipts = writer.write(given(("a", 1)), commit_of())
    redis.ask("FLUSHALL")
    with pytest.raises(SinkError, match="no longer exist"):
        sink.publish({commit_of(): receipts})
    with pytest.raises(SinkError, match="where staged entries were expected"):
        sink.publish({commit_of(): ["nonsense"]})
