"""Models of stores with times."""

from __future__ import annotations

from datetime import timedelta
from operator import itemgetter
from typing import Any

from kstreams import INT64, TEXT
from kstreams.durations import milliseconds
from kstreams.record import Record
from kstreams.state.cache.times import Times
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.buffer.store import BufferedRecord
from kstreams.state.stores.buffered import BufferedResult, BufferedState
from kstreams.state.stores.emit_buffer.kind import emit_buffer_store
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows, Handle
from kstreams.state.stores.rate_limit.kind import rate_limit_store
from kstreams.state.stores.rate_limit.rows import RateLimitRows
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.session.rows import SessionRows
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.sliding.rows import SlidingRows
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.rows import LATEST, NOT_PUT
from kstreams.state.stores.versioned.store import VersionedValue
from kstreams.state.stores.window.kind import window_store
from kstreams.state.stores.window.rows import WindowRows
from kstreams.windowed import Windowed
from kstreams.windows import TumblingWindows
from tests.support.models.store_model import KEYS, RETENTION, HeldBack


class Windows:
    spec = window_store("window", key=TEXT, value=INT64, windows=TumblingWindows(milliseconds(7)))

    def __init__(self) -> None:
        self.rows: dict[tuple[int, str], int] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        match action % 4:
            case 0 | 1:
                live.put(Windowed(key, b, b + 7), a)
                self.rows[b, key] = a
            case 2:
                assert live.delete(Windowed(key, b, b + 7)) == self.rows.pop((b, key), None)
            case _:
                gone = [handle for handle in self.rows if handle[0] < b]
                WindowRows.of(live).drop_before(b)
                for handle in gone:
                    del self.rows[handle]

    def check(self, live: Any, times: Times) -> None:
        rows = sorted(self.rows.items())
        everything = [(Windowed(key, start, start + 7), v) for (start, key), v in rows]
        assert list(live.fetch_all()) == everything
        low, high = KEYS[1], KEYS[-1]
        within = [row for row in everything if low <= row[0].key < high]
        assert list(live.fetch_range(low, high)) == within
        assert list(live.fetch_range(low, high, 5, 15, reverse=True)) == [
            row for row in within[::-1] if 5 <= row[0].start_ms < 15
        ]
        beyond = [row for row in everything if row[0].key >= low]
        assert list(live.fetch_range(low, None, reverse=True)) == beyond[::-1]
        for key in KEYS:
            own = [row for row in everything if row[0].key == key]
            assert [live.get(window) for window, _ in own] == [value for _, value in own]
            assert list(live.fetch(key)) == own
            assert list(live.fetch(key, 5, 15, reverse=True)) == [
                row for row in own[::-1] if 5 <= row[0].start_ms < 15
            ]


class Sessions:
    spec = session_store("session", key=TEXT, value=INT64)

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int, int], int] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        handle = (key, b, b + a % 4)
        match action % 4:
            case 0 | 1:
                live.put(Windowed(*handle), a)
                self.rows[handle] = a
            case 2:
                assert live.delete(Windowed(*handle)) == self.rows.pop(handle, None)
            case _:
                ended = {h: v for h, v in self.rows.items() if h[2] <= b}
                taken = SessionRows.of(live).take_ended(b)
                assert {(k, s, e): v for k, s, e, v in taken} == ended
                self.rows = {h: v for h, v in self.rows.items() if h not in ended}

    def check(self, live: Any, times: Times) -> None:
        rows = [(Windowed(*handle), value) for handle, value in sorted(self.rows.items())]
        assert list(live.fetch_all()) == rows
        for key in KEYS:
            own = [row for row in rows if row[0].key == key]
            assert list(live.fetch(key)) == own
            assert list(live.find_sessions(key, 5, 12)) == [
                row for row in own if row[0].end_ms >= 5 and row[0].start_ms <= 12
            ]


class VersionedPuts:
    """All valid puts by key and time, and the expected contents."""

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self.puts: dict[Any, dict[int, int | None]] = {key: {} for key in keys}
        self.observed: int | None = None

    @property
    def horizon(self) -> int:
        return NOT_PUT if self.observed is None else self.observed - RETENTION

    def put(self, key: Any, value: int | None, time: int) -> int:
        if time < self.horizon:
            return NOT_PUT
        self.observed = max(time, time if self.observed is None else self.observed)
        self.puts[key][time] = value
        return min((t for t in self.puts[key] if t > time), default=LATEST)

    def get(self, key: Any, as_of: int | None) -> VersionedValue[int] | None:
        times = self.puts[key]
        if not times or (as_of is not None and max(times) > as_of and as_of < self.horizon):
            return None
        start = max((t for t in times if as_of is None or t <= as_of), default=None)
        value = None if start is None else times[start]
        if start is None or value is None:
            return None
        return VersionedValue(value, start, min((t for t in times if t > start), default=None))

    def history(self, key: Any, low: int, high: int) -> list[VersionedValue[int]]:
        times = sorted(self.puts[key])
        found = []
        for start, end in zip(times, (*times[1:], None), strict=False):
            value = self.puts[key][start]
            after = end is None or end > max(low, self.horizon)
            if value is not None and start <= high and after:
                found.append(VersionedValue(value, start, end))
        return found


class Versions:
    spec = versioned_key_value_store(
        "versioned", key=TEXT, value=INT64, retention=timedelta(milliseconds=RETENTION)
    )

    def __init__(self) -> None:
        self.model = VersionedPuts(KEYS)

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        value = a if action % 4 else None
        assert live.put(key, value, b) == self.model.put(key, value, b)

    def check(self, live: Any, times: Times) -> None:
        get = self.model.get
        assert list(live.range()) == [(key, v) for key in sorted(KEYS) if (v := get(key, None))]
        for key in KEYS:
            assert [live.get(key, t) for t in range(0, 22, 3)] == [
                get(key, t) for t in range(0, 22, 3)
            ]
            assert list(live.history(key, 0, 30)) == self.model.history(key, 0, 30)


class Buffers:
    spec = buffer_store("buffer", key=TEXT, value=INT64)

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, Record[str, int | None]]] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        match action % 4:
            case 0 | 1:
                record: Record[str, int | None] = Record(key, a if a % 3 else None, b)
                place = self.rows[key][0] if key in self.rows else b
                assert BufferRows.of(live).put(record, b) == place
                self.rows[key] = place, record
            case 2:
                BufferRows.of(live).delete(key)
                self.rows.pop(key, None)
            case _:
                due = sorted((time, k) for k, (time, _) in self.rows.items() if time <= b)
                taken = BufferRows.of(live).take_until(b)
                assert taken == [self.rows.pop(k)[1] for _, k in due]

    def check(self, live: Any, times: Times) -> None:
        assert live.approximate_count() == len(self.rows)
        found = {key: BufferedRecord(record, time) for key, (time, record) in self.rows.items()}
        assert list(live.range()) == sorted(found.items(), key=itemgetter(0))
        assert [live.get(key) for key in KEYS] == [found.get(key) for key in KEYS]
        first = min((time for time, _ in self.rows.values()), default=None)
        assert BufferRows.of(live).next_timer() == first


class Slices:
    spec = sliding_store("sliding", key=TEXT, value=INT64)

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, int, tuple[tuple[int, int], ...]]] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        rows: SlidingRows[str, int] = SlidingRows.of(live)
        if action % 4 < 3:
            slices = {**dict(rows.slices(key)), b: a}
            self.rows[key] = b + 10, a, tuple(sorted(slices.items()))
            rows.put(key, self.rows[key][2], done_ms=a, timer_ms=b + 10)
        else:
            self.rows.pop(key, None)
            rows.put(key, (), done_ms=0, timer_ms=0)

    def check(self, live: Any, times: Times) -> None:
        assert list(live.fetch_all()) == [
            (Windowed(key, time, time), value)
            for key, (_, _, slices) in sorted(self.rows.items())
            for time, value in slices
        ]
        rows: SlidingRows[str, int] = SlidingRows.of(live)
        for key in KEYS:
            assert rows.get(key) == self.rows.get(key)
        first = min((timer for timer, _, _ in self.rows.values()), default=None)
        assert rows.next_timer() == first


class RateLimits:
    spec = rate_limit_store("paced", key=TEXT, value=INT64)

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, HeldBack]] = {}

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        rows: RateLimitRows[str, int] = RateLimitRows.of(live)
        match action % 4:
            case 0 | 1:
                windows: HeldBack = ((0, b, BufferedState(a, b, emitted=True)),)
                rows.hold_back(key, b, windows)
                self.rows[key] = b, windows
            case 2:
                rows.forwarded(key, b, 5)
                self.rows[key] = b, ()
            case _:
                rows.delete(key)
                self.rows.pop(key, None)

    def check(self, live: Any, times: Times) -> None:
        rows: RateLimitRows[str, int] = RateLimitRows.of(live)
        for key in KEYS:
            assert rows.get(key) == self.rows.get(key)
        assert list(rows.scan()) == sorted(self.rows.items(), key=itemgetter(0))
        assert list(live.fetch_all()) == [
            (Windowed(key, start, end), BufferedResult(state.value, state.time_ms, due))
            for key, (due, windows) in sorted(self.rows.items(), key=itemgetter(0))
            for start, end, state in windows
        ]


class EmitBuffers:
    spec = emit_buffer_store("pending", key=TEXT, value=INT64)

    def __init__(self) -> None:
        self.rows: dict[Handle[str], BufferedState[int]] = {}
        self.taken = -1

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        handle = max(b, self.taken + 1), a, a + 10, key  # an empty list is not stored
        rows: EmitBufferRows[str, int] = EmitBufferRows.of(live)
        match action % 4:
            case 0 | 1:
                self.rows[handle] = BufferedState(a, b, emitted=False)
                rows.writer()(handle, self.rows[handle])
            case 2:
                rows.writer()(handle, None)
                self.rows.pop(handle, None)
            case _:
                due = sorted(found for found in self.rows if found[0] <= b)
                assert rows.take_until(b) == [(found, self.rows.pop(found)) for found in due]
                self.taken = max(self.taken, b)

    def check(self, live: Any, times: Times) -> None:
        assert list(live.fetch_all()) == [
            (Windowed(key, start, end), BufferedResult(found.value, found.time_ms, due))
            for (due, start, end, key), found in sorted(self.rows.items())
        ]
