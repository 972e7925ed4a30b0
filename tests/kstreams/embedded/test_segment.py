"""Names of segments and staged files contain all their metadata."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.embedded.partition import _HEAD_BYTES, _HEAD_NAMES
from kstreams.embedded.segment import PARQUET, ROWS, Segment, Staged, producer_hash

SEGMENT = Segment("t", 3, 40, 2, 1_700_000_000_000, producer_hash("app"), 7)
naturals = st.integers(0, 2**62)
encodings = st.sampled_from([PARQUET, ROWS])


def test_segment_name_has_all_fields_needed_by_planner() -> None:
    assert SEGMENT.name == f"{40:020d}-2-1700000000000-{producer_hash('app')}-7.parquet"
    assert SEGMENT.end_offset == 42


@given(naturals, st.integers(1, 2**31), naturals, st.text(), naturals, encodings)
def test_segment_names_can_be_parsed(
    first: int, count: int, latest: int, producer: str, batch: int, encoding: str
) -> None:
    segment = Segment("t", 3, first, count, latest, producer_hash(producer), batch, encoding)
    assert Segment.parse("t", 3, segment.name) == segment


@given(st.lists(naturals, min_size=2, max_size=5))
def test_segment_names_sort_by_first_offset(offsets: list[int]) -> None:
    names = [Segment("t", 0, first, 1, 0, "0" * 16, 0).name for first in offsets]
    assert sorted(names) == [
        Segment("t", 0, first, 1, 0, "0" * 16, 0).name for first in sorted(offsets)
    ]


@pytest.mark.parametrize(
    "name",
    [".head", "", "topic.json", SEGMENT.name + ".tmp", "x" + SEGMENT.name, SEGMENT.name + "\n"],
)
def test_names_of_other_files_are_not_parsed_as_segments(name: str) -> None:
    assert Segment.parse("t", 3, name) is None


def test_longest_segment_names_fit_head_file() -> None:
    longest = Segment("t", 0, 2**63, 2**31, 2**63, "f" * 16, 2**63)
    assert _HEAD_NAMES * len(f"{longest.name}\n") <= _HEAD_BYTES


def test_staged_names_can_be_parsed() -> None:
    for encoding in (PARQUET, ROWS):
        staged = Staged("00ff", 5, 1_000, encoding)
        assert Staged.parse(staged.name) == staged
    assert Staged.parse("../../x-1-1.parquet") is None


def test_segments_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(SEGMENT)) == SEGMENT
