"""`SortedKeys` equals a sorted list, and open iterators ignore later changes."""

from __future__ import annotations

from itertools import chain, islice

from hypothesis import given
from hypothesis import strategies as st

from kstreams.state.backend.sorted_keys import SortedKeys

_KEYS = st.lists(st.binary(max_size=2), unique=True, max_size=60)
_BOUND = st.none() | st.binary(max_size=2)


@given(_KEYS, st.lists(st.tuples(st.integers(0, 20), _BOUND, _BOUND, st.booleans())))
def test_sorted_keys_equal_a_sorted_list(
    keys: list[bytes], steps: list[tuple[int, bytes | None, bytes | None, bool]]
) -> None:
    source = iter(keys)
    present = list(islice(source, 5))
    index = SortedKeys(present)
    for count, start, end, reverse in steps:
        fresh = list(islice(source, count))
        index.add(fresh)
        present += fresh
        expected = sorted(
            key for key in present if (start is None or key >= start) and (end is None or key < end)
        )
        found = list(chain.from_iterable(index.chunks(start, end, reverse=reverse)))
        assert found == (expected[::-1] if reverse else expected)
        assert len(index) == len(present)


def test_long_ranges_of_sorted_keys_are_returned_in_lists_of_bounded_size() -> None:
    index = SortedKeys(b"%05d" % n for n in range(0, 10_000, 2))
    index.add([b"%05d" % n for n in range(1, 1000, 2)])
    lists = list(index.chunks(None, None))
    assert max(map(len, lists)) < 2100
    forwards = list(chain.from_iterable(lists))
    assert len(forwards) == 5500
    assert list(chain.from_iterable(index.chunks(None, None, reverse=True))) == forwards[::-1]


def test_scan_of_sorted_keys_that_ends_early_reads_few_keys() -> None:
    index = SortedKeys(b"%05d" % n for n in range(10_000))
    assert len(next(index.chunks(b"05000", None))) < 100
    assert len(next(index.chunks(None, b"05000", reverse=True))) < 100


def test_open_iterator_of_sorted_keys_ignores_later_keys() -> None:
    index = SortedKeys(b"%05d" % n for n in range(3000))
    chunks = index.chunks(None, None)
    first = next(chunks)
    index.add([b"%05d" % n for n in range(3000, 9000)])
    list(index.chunks(None, None))
    assert len(first) + sum(map(len, chunks)) == 3000
