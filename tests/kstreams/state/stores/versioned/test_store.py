"""The versioned store, compared with a list of all puts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import BYTES, INT64, TEXT
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.store import VersionedValue
from tests.support.models.store_models import RETENTION, VersionedPuts
from tests.support.storage.store_backends import BACKENDS, held

SPEC = versioned_key_value_store(
    "v", key=BYTES, value=INT64, retention=timedelta(milliseconds=RETENTION)
)
KEYS = (b"a", b"a\x00", b"a\x00\xff", b"")


PUTS = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.none() | st.integers(0, 9),
        st.integers(-5, 40),
        st.booleans(),
    ),
    max_size=40,
)


@BACKENDS
@settings(deadline=None, max_examples=50)
@given(puts=PUTS)
def test_get_as_of_any_time_within_retention_returns_version_valid_then(
    backend: StateBackend, puts: list[tuple[bytes, int | None, int, bool]]
) -> None:
    model = VersionedPuts(KEYS)
    with held(SPEC, backend) as store:
        for key, value, time, commit in puts:
            assert store.live.put(key, value, time) == model.put(key, value, time)
            if commit:
                store.commit()
        for key in KEYS:
            for as_of in (None, *range(-6, 42)):
                assert store.live.get(key, as_of) == model.get(key, as_of)
            for low, high in ((-6, 42), (10, 20), (30, 30)):
                expected = model.history(key, low, high)
                assert list(store.live.history(key, low, high)) == expected
                assert list(store.live.history(key, low, high, reverse=True)) == expected[::-1]
        expected_latest = [(k, v) for k in sorted(KEYS) if (v := model.get(k, None))]
        assert list(store.live.range()) == expected_latest
        assert list(store.live.range(reverse=True)) == expected_latest[::-1]


def test_old_versions_and_tombstones_are_removed() -> None:
    with held(SPEC, Memory()) as store:
        for time in range(1000):
            store.live.put(b"a", time, time)
            if time % 7 == 0:
                store.commit()
        assert len(store.rows()) < 3 * RETENTION
        store.live.put(b"a", None, 1000)
        for time in range(1100, 1120):
            store.live.put(b"b", None, time)
        store.live.put(b"b", 1, 2000)
        store.live.put(b"b", 2, 3000)
        for _ in range(20):
            store.live.put(b"c", 2, 3100)
        assert [k for k, _ in store.rows()] == [b"\x01b\x00\x00", b"\x01c\x00\x00", b"\x03"]


def test_delete_returns_version_valid_at_its_time() -> None:
    with held(SPEC, Memory()) as store:
        store.live.put(b"a", 1, 5)
        store.live.put(b"a", 2, 10)
        assert store.live.delete(b"a", 7) == VersionedValue(1, 5, 10)
        assert store.live.get(b"a", 7) is None
        assert store.live.get(b"a") == VersionedValue(2, 10)


def test_rollback_removes_put_versions() -> None:
    with held(SPEC, Memory()) as store:
        store.live.put(b"a", 1, 5)
        store.overlay.begin()
        store.live.put(b"a", 2, 500)
        store.overlay.rollback()
        assert store.live.get(b"a") == VersionedValue(1, 5)
        assert store.live.put(b"a", 0, 3) == 5


def test_equal_definitions_of_store_are_equal() -> None:
    def make(days: int) -> object:
        return versioned_key_value_store("v", key=TEXT, value=INT64, retention=timedelta(days=days))

    assert make(1) == make(1)
    assert make(1) != make(2)
    assert key_value_store("v", key=TEXT, value=INT64, ttl=timedelta(1)) == key_value_store(
        "v", key=TEXT, value=INT64, ttl=timedelta(1)
    )
    with pytest.raises(ValueError, match="expected 0 or more"):
        make(-1)
