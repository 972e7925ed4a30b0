"""Self-join stores with only a left side get the right side, once."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import TEXT
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.join.kind import join_store
from kstreams.state.stores.join.rows import JoinRows
from tests.kstreams.state.stores.join.test_blocks import SETUP, put

SPEC = join_store("s", key=TEXT, left=TEXT, right=TEXT)


def remembered(overlay: Overlay) -> list[tuple[Any, ...]]:
    found = SPEC.open(overlay).fetch_all()
    return [(row.side, key, row.timestamp, row.left or row.right) for key, row in found]


@pytest.mark.parametrize("packed", [False, True], ids=["rows", "blocks"])
def test_mirror_of_self_join_store_copies_left_side_once(packed: bool) -> None:
    overlay = Overlay(MemoryStore([SPEC.name]))
    put(overlay, [(0, "a", 10, 0, 1), (0, "b", 12, 0, 40)])
    rows: JoinRows[str, str, str] = JoinRows.of(SPEC.open(overlay))
    if not packed:
        rows.unpack()
    lefts = remembered(overlay)
    assert {side for side, *_ in lefts} == {"left"}
    for _ in range(2):
        rows.mirror()
        expected = [*lefts, *(("right", *rest) for _, *rest in lefts)]
        assert sorted(remembered(overlay)) == sorted(expected)
        assert rows.clocks().newest_right == rows.clocks().newest_left == 12


def test_mirror_of_store_that_already_has_right_records_changes_nothing() -> None:
    overlay = Overlay(MemoryStore([SPEC.name]))
    put(overlay, [(0, "a", 10, 0, 1), (1, "a", 11, 0, 1)])
    rows: JoinRows[str, str, str] = JoinRows.of(SPEC.open(overlay))
    rows.set_up(SETUP)
    before = remembered(overlay)
    rows.mirror()
    assert remembered(overlay) == before
