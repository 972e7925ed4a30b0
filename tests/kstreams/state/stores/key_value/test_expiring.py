"""Values with a time to live, compared with a dictionary of put times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.key_value.expiring import ExpiringRows, TtlClock
from kstreams.state.stores.key_value.kind import key_value_store
from tests.support.storage.store_backends import BACKENDS, held

TTL = 10


@dataclass
class Moving:
    """Times that a test changes."""

    stream_time: int = -1
    wall_time: int = 0


def spec(clock: TtlClock = "stream") -> object:
    return key_value_store(
        "t", key=TEXT, value=INT64, ttl=timedelta(milliseconds=TTL), ttl_clock=clock
    )


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "put", "delete", "commit", "pass", "absent")),
        st.sampled_from(("a", "ab", "b", "c")),
        st.integers(0, 8),
    ),
    max_size=50,
)


@BACKENDS
@pytest.mark.parametrize("clock", ["stream", "wall"])
@settings(deadline=None, max_examples=40)
@given(steps=STEPS)
def test_value_is_present_until_its_time_to_live_ends(
    backend: StateBackend, clock: TtlClock, steps: list[tuple[str, str, int]]
) -> None:
    times = Moving()
    model: dict[str, tuple[int, int]] = {}

    def now() -> int:
        return times.stream_time if clock == "stream" else times.wall_time

    def living() -> dict[str, int]:
        return {k: v for k, (v, put) in sorted(model.items()) if now() < put + TTL}

    with held(spec(clock), backend, times) as store:  # type: ignore[arg-type]  # any spec
        for step, key, number in steps:
            if step == "put":
                store.live.put(key, number)
                model[key] = (number, now())
            elif step == "absent":
                assert store.live.put_if_absent(key, number) == living().get(key)
                if key not in living():
                    model[key] = (number, now())
            elif step == "delete":
                assert store.live.delete(key) == living().get(key)
                model.pop(key, None)
            elif step == "commit":
                store.commit()
            else:
                times.stream_time += number
                times.wall_time += number
            alive = living()
            assert dict(store.live.range()) == alive
            assert [store.live.get(k) for k in ("a", "ab", "b", "c")] == [
                alive.get(k) for k in ("a", "ab", "b", "c")
            ]
        assert list(store.live.range("ab", reverse=True)) == [
            (k, v) for k, v in sorted(living().items(), reverse=True) if k >= "ab"
        ]
        assert [k for k, _ in store.live.prefix_scan(b"a")] == [k for k in living() if k[0] == "a"]
        assert [k for k, _, _ in ExpiringRows.of(store.live).expiries()] == list(living())


def test_expired_values_are_deleted_in_small_steps() -> None:
    times = Moving(0)
    with held(spec(), Memory(), times) as store:  # type: ignore[arg-type]  # any spec
        for number in range(100):
            store.live.put(f"k{number}", number)
        store.commit()
        times.stream_time = 1000
        assert list(store.live.range()) == []
        assert len(store.rows()) == 200
        for number in range(50):
            store.live.put("fresh", number)
            assert len(store.overlay._stores["t"].dirty) <= 2 * (2 * number + 3) + 2
        assert len(store.rows()) == 2
        assert store.live.approximate_count() == 1


def test_frequent_puts_of_one_key_rarely_write_index() -> None:
    times = Moving(0)
    with held(spec(), Memory(), times) as store:  # type: ignore[arg-type]  # any spec
        for time in range(TTL):
            times.stream_time = time
            store.live.put("hot", time)
        assert len(store.overlay.changes()["t"].pairs) == 2


def test_ttl_of_zero_is_rejected() -> None:
    with pytest.raises(ValueError, match="expected 1 ms or more"):
        key_value_store("t", key=TEXT, value=INT64, ttl=timedelta(0))
