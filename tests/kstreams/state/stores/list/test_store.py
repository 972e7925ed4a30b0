"""The list store, compared with lists."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import BYTES, INT64
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.list.kind import list_store
from kstreams.state.stores.list.rows import ListRows
from tests.support.storage.store_backends import BACKENDS, held

SPEC = list_store("l", key=BYTES, value=INT64)
KEYS = (b"", b"a", b"a\x00", b"b")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.sampled_from(("append", "extend", "take_first", "delete", "commit")),
        st.integers(0, 4),
    ),
    max_size=40,
)


@BACKENDS
@settings(deadline=None, max_examples=60)
@given(steps=STEPS)
def test_list_store_appends_at_end_and_removes_at_front(
    backend: StateBackend, steps: list[tuple[bytes, str, int]]
) -> None:
    model: dict[bytes, list[int]] = {key: [] for key in KEYS}
    with held(SPEC, backend) as store:
        for number, (key, step, count) in enumerate(steps):
            own, live = model[key], store.live
            if step == "append":
                own.append(number)
                assert live.append(key, number) == len(own)
            elif step == "extend":
                more = list(range(number, number + count))
                own += more
                assert live.extend(key, more) == len(own)
            elif step == "take_first":
                assert live.take_first(key, count) == tuple(own[:count])
                del own[:count]
            elif step == "delete":
                assert live.delete(key) == tuple(own)
                own.clear()
            else:
                store.commit()
        for key, own in model.items():
            assert store.live.get(key) == tuple(own)
            assert list(store.live.elements(key, reverse=True)) == own[::-1]
            assert store.live.length(key) == len(own)
            assert store.live.first(key) == (own[0] if own else None)
        full = [(key, len(own)) for key, own in sorted(model.items()) if own]
        assert list(store.live.lengths()) == full
        assert list(store.live.lengths(b"a", b"b")) == [(k, n) for k, n in full if b"a" <= k < b"b"]
        most = sum(map(len, model.values())) + len(full)
        assert len(full) <= len(store.rows()) <= most
        if not any(model.values()):
            assert store.rows() == []


@BACKENDS
def test_short_list_is_stored_in_one_row_and_long_list_in_one_row_per_element(
    backend: StateBackend,
) -> None:
    with held(SPEC, backend) as store:
        store.live.extend(b"a", range(4))
        store.commit()
        assert len(store.rows()) == 1
        store.live.append(b"a", 4)
        store.commit()
        assert len(store.rows()) == 6
        assert store.live.get(b"a") == (0, 1, 2, 3, 4)
        store.live.delete(b"a")
        store.commit()
        assert store.rows() == []


@BACKENDS
def test_list_is_rebuilt_from_changelog_with_any_element_numbers(backend: StateBackend) -> None:
    with held(SPEC, backend) as store:
        live = store.live
        for number in (5, 1 << 61, 7):
            ListRows.of(live).rebuild(b"a", number, number)
        assert live.get(b"a") == (5, 7, 1 << 61)
        ListRows.of(live).rebuild(b"a", 1 << 61, None)
        assert (live.get(b"a"), live.first(b"a")) == ((5, 7), 5)
        ListRows.of(live).rebuild(b"a", 5, None)
        ListRows.of(live).rebuild(b"a", 7, None)
        assert live.length(b"a") == 0
        assert list(live.lengths()) == []
