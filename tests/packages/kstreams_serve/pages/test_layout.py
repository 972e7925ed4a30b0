"""The layout of a topology: separate boxes, in the direction of records."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from kstreams_serve.pages.layout import Edge, Item, Layout, Placed, laid_out

_GRAPHS = st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.lists(st.sampled_from("abc"), min_size=count, max_size=count),
        st.lists(st.tuples(st.integers(0, count), st.integers(0, count)), max_size=20),
    )
)


def _apart(one: Placed, other: Placed) -> bool:
    return (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )


def _inside(inner: Placed, outer: Placed) -> bool:
    return (
        outer.x <= inner.x
        and inner.x + inner.width <= outer.x + outer.width
        and outer.y <= inner.y
        and inner.y + inner.height <= outer.y + outer.height
    )


def _check(layout: Layout, items: list[Item]) -> None:
    frames = {frame.id: frame for frame in layout.frames}
    assert set(layout.boxes) == {item.id for item in items}
    assert all(_apart(*pair) for pair in combinations(layout.boxes.values(), 2))
    assert all(_apart(*pair) for pair in combinations(layout.frames, 2))
    assert all(_inside(layout.boxes[item.id], frames[item.group]) for item in items)
    whole = Placed("", 0, 0, layout.width, layout.height)
    assert all(_inside(frame, whole) for frame in layout.frames)


@given(_GRAPHS)
def test_topology_drawing_has_no_overlapping_boxes_for_any_edges(
    graph: tuple[list[str], list[tuple[int, int]]],
) -> None:
    groups, pairs = graph
    items = [Item(f"n{number}", group) for number, group in enumerate(groups)]
    edges = [Edge(f"n{start}", f"n{end}") for start, end in pairs]
    layout = laid_out(items, edges)
    _check(layout, items)
    assert layout == laid_out(items, edges)


def test_topology_drawing_has_edges_from_left_to_right_and_stores_below() -> None:
    items = [
        Item("in", "a"), Item("map", "a"), Item("edge", "a"),
        Item("count", "b"), Item("counts", "b", below="count"), Item("out", "b"),
    ]  # fmt: skip
    pairs = (("in", "map"), ("map", "edge"), ("edge", "count"), ("count", "out"))
    layout = laid_out(items, [*(Edge(*pair) for pair in pairs), Edge("count", "counts", False)])
    _check(layout, items)
    boxes = layout.boxes
    assert all(boxes[start].x < boxes[end].x for start, end in pairs)
    assert (boxes["counts"].x, boxes["counts"].y > boxes["count"].y) == (boxes["count"].x, True)
    assert [route.tip is None for route in layout.routes] == [False] * 4 + [True]


def test_empty_topology_has_no_drawing() -> None:
    assert laid_out([], []).boxes == {}
