"""Sorted ranges of keys, compared with sets of keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstreams.state.backend.key_ranges import all_covered, covers, gaps, united
from kstreams.state.backend.working import KeyRange

_KEYS = tuple(bytes([n]) for n in range(12))
_KEY = st.sampled_from(_KEYS)
_RANGE = st.tuples(_KEY, _KEY).filter(lambda pair: pair[0] < pair[1])


def _made(added: list[KeyRange]) -> tuple[tuple[KeyRange, ...], set[bytes]]:
    ranges: tuple[KeyRange, ...] = ()
    for each in added:
        ranges = united(ranges, each)
    return ranges, {key for key in _KEYS for start, end in added if start <= key < end}


@given(st.lists(_RANGE))
def test_key_ranges_contain_added_keys_and_are_disjoint(added: list[KeyRange]) -> None:
    ranges, model = _made(added)
    bounds = [bound for each in ranges for bound in each]
    assert bounds == sorted(set(bounds))
    assert {key for key in _KEYS if covers(ranges, key)} == model
    assert all_covered(ranges, _KEYS) == [key in model for key in _KEYS]


@given(st.lists(_RANGE), st.none() | _KEY, st.none() | _KEY)
def test_gaps_of_key_ranges_contain_keys_outside_of_them(
    added: list[KeyRange], start: bytes | None, end: bytes | None
) -> None:
    ranges, model = _made(added)
    found = [
        key
        for low, high in gaps(ranges, start, end)
        for key in _KEYS
        if (low is None or low <= key) and (high is None or key < high)
    ]
    assert found == [
        key
        for key in _KEYS
        if key not in model and (start is None or start <= key) and (end is None or key < end)
    ]
