"""Results of the Redis sinks: their encoding, refusals, and staged entries."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from typing import Any

import pytest

from kstreams.errors import RecordRefusedError
from kstreams_redis import RedisKeys, RedisStream
from tests.support.sinks.redis_database import Place
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = pytest.mark.slow


def _as_it_is(_key: object, value: Any) -> Any:
    return value


def test_redis_values_are_encoded_by_type_and_replace_earlier_values(redis: Place) -> None:
    sink: RedisKeys[Any, Any] = RedisKeys(redis.url, value=_as_it_is, prefix="p:")
    rows = (("a", "é"), ("b", b"\0\xff"), ("c", 7), ("d", 0.1), ("e", {"x": 1, "y": "z"}), (8, 9))
    assert write(sink, given(*rows), commit_of(1)) == []
    assert redis.names("p:") == ["8", "a", "b", "c", "d", "e"]
    assert [redis.ask("GET", f"p:{key}") for key in "acd"] == ["é", "7", "0.1"]
    assert redis.ask("HGETALL", "p:e") == {"x": "1", "y": "z"}
    changed = given(("a", {"n": 1}), ("e", "text"), ("b", None), ("c", {}), ("d", None), ("d", 5))
    assert write(sink, changed, commit_of(2)) == []
    assert redis.names("p:") == ["8", "a", "d", "e"]
    assert redis.ask("HGETALL", "p:a") == {"n": "1"}
    assert [redis.ask("GET", f"p:{key}") for key in "ed"] == ["text", "5"]


def test_results_without_a_valid_form_are_refused_and_all_others_are_written(
    redis: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kstreams_redis.values._LARGEST_BYTES", 2 << 20)
    sink: RedisKeys[Any, Any] = RedisKeys(redis.url, value=_as_it_is)
    bad = [
        ("b", True),
        ("c", [1]),
        ("d", {"x": None}),
        ("e", {1: "x"}),
        (None, 1),
        (("a", 1), 1),
        ("f", bytes((2 << 20) + 1)),
        ("kstreams:epoch/out/0", "9:0:9:"),
        ("half \ud800", 1),
        ("g", {str(n): n for n in range(1_001)}),
    ]
    refused = write(sink, given(("a", 1), *bad, ("z", math.inf)))
    assert [row.row for row in refused] == list(range(1, len(bad) + 1))
    assert "bool" in refused[0].reason
    assert "reserved for the sink" in refused[7].reason
    assert json.loads(refused[1].letter.value or b"") == [1]
    assert len(refused[6].letter.value or b"") < (6 << 20)  # only the first MiB
    assert set(redis.ask("KEYS", "*")) == {"a", "z", "kstreams:epoch/out/0"}


def test_policy_fail_writes_no_key_of_batch_with_invalid_value(redis: Place) -> None:
    sink: RedisKeys[Any, Any] = RedisKeys(redis.url, value=_as_it_is)
    with pytest.raises(RecordRefusedError, match="list"):
        write(sink, given(("a", 1), ("b", []), fails=True))
    assert redis.ask("KEYS", "*") == []


def test_keys_beyond_limit_of_one_script_are_written_and_expire(redis: Place) -> None:
    sink: RedisKeys[str, Any] = RedisKeys(
        redis.url, value=_as_it_is, prefix="p:", expire_after=timedelta(hours=1)
    )
    pairs = [(f"k{n}", n if n % 2 else {"n": n}) for n in range(2_500)]
    assert write(sink, given(*pairs)) == []
    assert len(redis.names("p:")) == 2_500
    assert redis.ask("GET", "p:k2499") == "2499"
    assert all(3_590_000 < redis.ask("PTTL", f"p:k{n}") <= 3_600_000 for n in (0, 1, 2_498))
    assert redis.ask("PTTL", "kstreams:epoch/out/0") == -1


def test_entries_of_smaller_plan_replace_entries_of_larger_plan_of_same_batch(redis: Place) -> None:
    sink: RedisKeys[str, int] = RedisKeys(redis.url, value=_as_it_is, prefix="p:")
    write(sink, given(("a", 1), ("b", 2)), commit_of(4))
    write(sink, given(("a", 3)), commit_of(4, revision=1))
    write(sink, given(("a", 9), ("b", 9)), commit_of(4))  # of a late driver
    assert [redis.ask("GET", f"p:{key}") for key in "ab"] == ["3", "2"]


def test_key_function_builds_redis_key(redis: Place) -> None:
    sink: RedisKeys[tuple[str, int], int] = RedisKeys(
        redis.url, key=lambda key: f"{key[0]}:{key[1]}", value=_as_it_is
    )
    assert write(sink, given((("a", 1), 5))) == []
    assert redis.ask("GET", "a:1") == "5"


def test_stream_sink_keeps_order_and_leaves_no_staged_entries(redis: Place) -> None:
    sink: RedisStream[str, Any] = RedisStream(
        redis.url, stream="s", fields=lambda _key, n: None if n == 3 else {"n": n, "": b"\0"}
    )
    refused = write(sink, given(*((f"k{n}", n) for n in range(1_200)), ("bad", []), ("x", True)))
    assert [row.row for row in refused] == [1_200, 1_201]
    assert [int(entry["n"]) for entry in redis.entries("s")] == [n for n in range(1_200) if n != 3]
    assert sorted(redis.ask("KEYS", "*")) == ["kstreams:epoch/out/0", "s"]


def test_staged_entries_of_uncommitted_batch_are_removed_by_later_batch(redis: Place) -> None:
    sink: RedisStream[str, int] = RedisStream(
        redis.url, stream="s", fields=lambda _key, n: {"n": n}
    )
    sink.open().write(given(("a", 1)), commit_of(0))  # dies
    write(sink, given(("a", 1)), commit_of(0))
    write(sink, given(("a", 2)), commit_of(1))
    assert [entry["n"] for entry in redis.entries("s")] == ["1", "2"]
    assert sorted(redis.ask("KEYS", "*")) == ["kstreams:epoch/out/0", "s"]


def test_stream_is_trimmed_to_about_the_given_length(redis: Place) -> None:
    sink: RedisStream[str, int] = RedisStream(
        redis.url, stream="s", fields=lambda _key, n: {"n": n}, most=100
    )
    write(sink, given(*((f"k{n}", n) for n in range(1_000))))
    entries = redis.entries("s")
    assert 100 <= len(entries) < 400
    assert entries[-1] == {"n": "999"}
