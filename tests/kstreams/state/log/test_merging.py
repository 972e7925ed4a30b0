"""Merged changes have the effect of the individual changes, whatever the previous contents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.working import StoreChanges
from kstreams.state.log.merging import merged_changes

_KEY = st.sampled_from([bytes([n]) for n in range(8)])
_PAIRS = st.dictionaries(_KEY, st.none() | st.binary(max_size=1))
_CHANGED = st.builds(
    lambda pairs, bounds: StoreChanges(
        sorted(pairs.items()), list(zip(bounds[::2], bounds[1::2], strict=False))
    ),
    _PAIRS,
    st.sets(_KEY, max_size=4).map(sorted),
)
_BATCHES = st.lists(st.dictionaries(st.sampled_from("ab"), _CHANGED), max_size=5)


def _contents(*batches: dict[str, StoreChanges]) -> list[list[tuple[bytes, bytes]]]:
    store = MemoryStore(["a", "b"])
    for changes in batches:
        store.write(changes)
    return [list(store.scan(name, None, None)) for name in "ab"]


@given(_BATCHES, _BATCHES)
def test_merged_store_changes_give_same_contents_as_separate_changes(
    before: list[dict[str, StoreChanges]], batches: list[dict[str, StoreChanges]]
) -> None:
    merged = dict(merged_changes(batches))
    assert _contents(*before, merged) == _contents(*before, *batches)


@given(_BATCHES, st.data())
def test_merged_store_changes_may_be_applied_after_some_of_their_changes(
    batches: list[dict[str, StoreChanges]], data: st.DataObject
) -> None:
    seen = data.draw(st.integers(0, len(batches)))
    merged = dict(merged_changes(batches))
    assert _contents(*batches[:seen], merged) == _contents(*batches)


@given(_BATCHES)
def test_merged_store_changes_have_sorted_keys_and_disjoint_ranges(
    batches: list[dict[str, StoreChanges]],
) -> None:
    for changed in merged_changes(batches).values():
        keys = [key for key, _ in changed.pairs]
        assert keys == sorted(set(keys))
        bounds = [bound for each in changed.ranges for bound in each]
        assert bounds == sorted(set(bounds))
        gone = {key for key, value in changed.pairs if value is None}
        assert not any(start <= key < end for key in gone for start, end in changed.ranges)
