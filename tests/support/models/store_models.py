"""Models of the store kinds; each operates on a live store and its model together.

`MODELS` has one model of each kind. A step is the number of an action, a key and two small numbers.
Results of calls are compared immediately, contents of the store by `check`.
"""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta
from typing import Any

from kstreams import BYTES, INT64, TEXT
from kstreams.state.cache.times import Times
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.list.kind import list_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from tests.support.models.join_store_models import Joins, Queues
from tests.support.models.store_model import KEYS, RETENTION, TTL, Model
from tests.support.models.timed_store_models import (
    Buffers,
    EmitBuffers,
    RateLimits,
    Sessions,
    Slices,
    VersionedPuts,
    Versions,
    Windows,
)

__all__ = ("KEYS", "RETENTION", "TTL", "Model", "VersionedPuts", "copied", "models")


def models() -> list[Model]:
    """Return empty models of all kinds."""
    return [
        KeyValues(),
        Expiring("stream"),
        Expiring("wall"),
        Timestamped(),
        Windows(),
        Sessions(),
        Versions(),
        Lists(),
        Buffers(),
        Slices(),
        RateLimits(),
        EmitBuffers(),
        Joins(),
        Queues(),
    ]


class KeyValues:
    spec = key_value_store("key-value", key=TEXT, value=INT64)

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        match action % 5:
            case 0 | 1:
                live.put(key, a)
                self.rows[key] = a
            case 2:
                assert live.delete(key) == self.rows.pop(key, None)
            case 3:
                assert live.put_if_absent(key, a) == self.rows.get(key)
                self.rows.setdefault(key, a)
            case _:
                live.put_many([key, "ab"], [a, None])
                self.rows[key] = a
                self.rows.pop("ab", None)

    def check(self, live: Any, times: Times) -> None:
        pairs = sorted(self.rows.items())
        assert list(live.range()) == pairs
        assert list(live.range("a", "b")) == [p for p in pairs if "a" <= p[0] < "b"]
        assert list(live.range("a", reverse=True)) == [p for p in pairs[::-1] if p[0] >= "a"]
        assert list(live.prefix_scan(b"a")) == [p for p in pairs if p[0].startswith("a")]
        assert live.get_many(KEYS) == [self.rows.get(key) for key in KEYS]


class Expiring:
    def __init__(self, clock: Any) -> None:
        ttl = timedelta(milliseconds=TTL)
        self.spec = key_value_store(f"{clock}-ttl", key=TEXT, value=INT64, ttl=ttl, ttl_clock=clock)
        self.by_stream = clock == "stream"
        self.rows: dict[str, tuple[int, int]] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        alive = self._living(times)
        match action % 4:
            case 0 | 1:
                live.put(key, a)
                self.rows[key] = (a, self._now(times))
            case 2:
                assert live.delete(key) == alive.get(key)
                self.rows.pop(key, None)
            case _:
                assert live.put_if_absent(key, a) == alive.get(key)
                if key not in alive:
                    self.rows[key] = (a, self._now(times))

    def check(self, live: Any, times: Times) -> None:
        alive = self._living(times)
        assert list(live.range()) == list(alive.items())
        assert list(live.range(reverse=True)) == list(alive.items())[::-1]
        assert [live.get(key) for key in KEYS] == [alive.get(key) for key in KEYS]

    def _living(self, times: Times) -> dict[str, int]:
        now = self._now(times)
        return {key: value for key, (value, at) in sorted(self.rows.items()) if now < at + TTL}

    def _now(self, times: Times) -> int:
        return times.stream_time if self.by_stream else times.wall_time


class Timestamped:
    spec = timestamped_store("timestamped", key=TEXT, value=INT64)

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, int]] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        if action % 3:
            live.put(key, a, b)
            self.rows[key] = (a, b)
        else:
            live.put(key, None, b)
            self.rows.pop(key, None)

    def check(self, live: Any, times: Times) -> None:
        pairs = sorted(self.rows.items())
        assert list(live.range()) == pairs
        assert list(live.range("a", "b", reverse=True)) == [
            pair for pair in pairs[::-1] if "a" <= pair[0] < "b"
        ]
        assert [live.get(key) for key in KEYS] == [self.rows.get(key) for key in KEYS]


class Lists:
    spec = list_store("list", key=BYTES, value=INT64)

    def __init__(self) -> None:
        self.rows: dict[bytes, list[int]] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        name = key.encode()
        own = self.rows.setdefault(name, [])
        match action % 4:
            case 0 | 1:
                own += [a] * (b % 3)
                assert live.extend(name, [a] * (b % 3)) == len(own)
            case 2:
                assert live.take_first(name, b % 3) == tuple(own[: b % 3])
                del own[: b % 3]
            case _:
                assert live.delete(name) == tuple(own)
                own.clear()

    def check(self, live: Any, times: Times) -> None:
        full = sorted((key, own) for key, own in self.rows.items() if own)
        assert list(live.lengths()) == [(key, len(own)) for key, own in full]
        assert list(live.range()) == [(key, tuple(own)) for key, own in full]
        for key in KEYS:
            assert list(live.get(key.encode())) == self.rows.get(key.encode(), [])


def copied(found: list[Model]) -> list[Model]:
    """Return models with the same contents."""
    return deepcopy(found)
