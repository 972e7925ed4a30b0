"""`LayeredStore` equals a dict, whatever part of its layers the base store already has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.errors import StoreError
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.working import KeyRange, StoreChanges
from kstreams.views.layered_store import Layer, LayeredStore

_KEYS = st.binary(min_size=1, max_size=2).map(lambda b: bytes(c % 4 for c in b))
_BOUND = st.none() | _KEYS


@st.composite
def _changes(draw: st.DrawFn) -> StoreChanges:
    pairs = draw(st.dictionaries(_KEYS, st.none() | st.binary(max_size=1), max_size=6))
    bounds = sorted(draw(st.sets(_KEYS, max_size=4)))
    ranges: list[KeyRange] = list(zip(bounds[::2], bounds[1::2], strict=False))
    return StoreChanges(sorted(pairs.items()), ranges)


def _apply(model: dict[bytes, bytes], changes: StoreChanges) -> None:
    for start, end in changes.ranges:
        for key in [key for key in model if start <= key < end]:
            del model[key]
    for key, value in changes.pairs:
        model.pop(key, None)
        if value is not None:
            model[key] = value


@pytest.mark.long
@given(
    history=st.lists(_changes(), max_size=6),
    folded=st.integers(0, 6),
    part=st.integers(0, 6),
    start=_BOUND,
    end=_BOUND,
)
def test_layered_store_of_view_equals_a_dictionary(
    history: list[StoreChanges], folded: int, part: int, start: bytes | None, end: bytes | None
) -> None:
    base, model = MemoryStore(["s"]), dict[bytes, bytes]()
    for changes in history[:folded]:
        base.write({"s": changes})
    if history[folded:]:  # and a part of the changes that are being written
        half = history[folded]
        base.write({"s": StoreChanges(half.pairs[:part], half.ranges)})
    for changes in history:
        _apply(model, changes)
    # a version in use also has layers that the base store has by now
    for first in {folded, max(0, folded - 2)}:
        layers = [Layer(changes, n) for n, changes in enumerate(history[first:])]
        store = LayeredStore("s", base, tuple(reversed(layers)))
        expected = sorted(
            (key, value)
            for key, value in model.items()
            if (start is None or start <= key) and (end is None or key < end)
        )
        assert list(store.scan("s", start, end)) == expected
        assert list(store.scan("s", start, end, reverse=True)) == expected[::-1]
        keys = [bytes([a]) for a in range(4)] + [bytes([a, b]) for a in range(4) for b in range(4)]
        assert store.multi_get("s", keys) == [model.get(key) for key in keys]
        assert store.count("s") == len(model)


def test_layered_store_is_read_only() -> None:
    store = LayeredStore("s", MemoryStore(["s"]), ())
    with pytest.raises(StoreError, match="read-only"):
        store.write({"s": StoreChanges([(b"a", b"1")])})
