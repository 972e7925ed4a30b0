"""The layout of a topology's nodes in a diagram: in layers, from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ("Edge", "Item", "Layout", "Placed", "Route", "laid_out")

_WIDTH = 176
_HEIGHT = 60
_GAP_X = 58
_GAP_Y = 22
_PAD = 16
_HEAD = 30
_GROUP_GAP_X = 64
_GROUP_GAP_Y = 28
_STRAIGHT = 4
_SWEEPS = 4


@dataclass(frozen=True)
class Item:
    """An item of a diagram.

    Attributes:
        id: The id.
        group: The name of the frame around the item.
        below: The id of the item that is drawn directly above this one, such as the processor of a
            store; empty without one.
    """

    id: str
    group: str
    below: str = ""


@dataclass(frozen=True)
class Edge:
    """A connection between two items.

    Attributes:
        start: The start item.
        end: The end item.
        directed: Whether the connection has an arrow.
    """

    start: str
    end: str
    directed: bool = True


@dataclass(frozen=True)
class Placed:
    """The position and the size of an item or a frame, in pixels; `id` is its id or name."""

    id: str
    x: int
    y: int
    width: int = _WIDTH
    height: int = _HEIGHT


@dataclass(frozen=True)
class Route:
    """An edge as an SVG line.

    Attributes:
        edge: The edge.
        path: The line.
        tip: The position of the edge's arrow; None without an arrow.
    """

    edge: Edge
    path: str
    tip: tuple[int, int] | None


@dataclass(frozen=True)
class Layout:
    """The layout of a diagram.

    Attributes:
        width: The total width in pixels.
        height: The total height in pixels.
        frames: The frame around each group.
        boxes: The items, by id.
        routes: The lines between items.
    """

    width: int
    height: int
    frames: Sequence[Placed]
    boxes: Mapping[str, Placed]
    routes: Sequence[Route]


@dataclass
class _Frame:
    name: str
    columns: list[list[str]] = field(default_factory=list)

    @property
    def size(self) -> tuple[int, int]:
        wide, high = len(self.columns), max(map(len, self.columns), default=1)
        return (
            2 * _PAD + wide * _WIDTH + (wide - 1) * _GAP_X,
            _HEAD + _PAD + high * _HEIGHT + (high - 1) * _GAP_Y,
        )


def laid_out(items: Sequence[Item], edges: Sequence[Edge]) -> Layout:
    """Return the layout of a diagram; it depends on nothing but the items and edges.

    Each group has its own layout in layers; the groups are then arranged along the edges between
    them. Backward edges are drawn below.

    Args:
        items: All items, with unique ids.
        edges: The edges; those of unknown items are ignored.
    """
    known = {item.id: item for item in items}
    kept = [edge for edge in edges if edge.start in known and edge.end in known]
    groups = dict.fromkeys(item.group for item in items)
    frames = [_frame(name, [i for i in items if i.group == name], kept) for name in groups]
    between = {
        (known[edge.start].group, known[edge.end].group): None
        for edge in kept
        if known[edge.start].group != known[edge.end].group
    }
    boxes, placed = _stacked(frames, list(between))
    routes = [_route(edge, boxes[edge.start], boxes[edge.end]) for edge in kept]
    width = max((frame.x + frame.width for frame in placed), default=0)
    height = max((frame.y + frame.height for frame in placed), default=0)
    loops = any(route.tip and boxes[route.edge.end].x <= boxes[route.edge.start].x
                for route in routes)  # fmt: skip
    return Layout(width + 1, height + (_GROUP_GAP_Y if loops else 1), placed, boxes, routes)


def _frame(name: str, items: Sequence[Item], edges: Iterable[Edge]) -> _Frame:
    own = {item.id for item in items if not item.below}
    inner = [(e.start, e.end) for e in edges if e.directed and e.start in own and e.end in own]
    columns = _ordered(_layers([item.id for item in items if item.id in own], inner), inner)
    hanging: dict[str, list[str]] = {}
    for item in items:
        if item.below:
            hanging.setdefault(item.below, []).append(item.id)
    filled = [[each for top in column for each in (top, *hanging.pop(top, ()))]
              for column in columns]  # fmt: skip
    rest = [each for ids in hanging.values() for each in ids]
    return _Frame(name, [*filled, rest] if rest else filled)


def _layers(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the ids in layers, by the longest path to each; backward edges do not count."""
    depth = dict.fromkeys(ids, 0)
    forward = [edge for edge in edges if edge not in _backward(ids, edges)]
    for _ in ids:
        moved = False
        for start, end in forward:
            if depth[end] < depth[start] + 1:
                depth[end] = depth[start] + 1
                moved = True
        if not moved:
            break
    found: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for each in ids:
        found[depth[each]].append(each)
    return [layer for layer in found if layer]


def _backward(ids: Sequence[str], edges: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the edges that close a cycle in a depth-first walk in the order of the ids."""
    after: dict[str, list[str]] = {each: [] for each in ids}
    for start, end in edges:
        after[start].append(end)
    found: set[tuple[str, str]] = set()
    done: set[str] = set()
    for root in ids:
        if root in done:
            continue
        path = {root}
        walk = [(root, iter(after[root]))]
        while walk:
            here, rest = walk[-1]
            there = next(rest, None)
            if there is None:
                walk.pop()
                path.discard(here)
                done.add(here)
            elif there in path:
                found.add((here, there))
            elif there not in done:
                path.add(there)
                walk.append((there, iter(after[there])))
    return found


def _ordered(layers: list[list[str]], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the layers, each reordered so that items are near their connected items."""
    near: dict[str, list[str]] = {}
    for start, end in edges:
        near.setdefault(start, []).append(end)
        near.setdefault(end, []).append(start)
    for _ in range(_SWEEPS):
        for layer in layers:
            place = {each: n for column in layers for n, each in enumerate(column)}
            before = {each: n for n, each in enumerate(layer)}

            def middle(
                each: str, place: Mapping[str, int] = place, before: Mapping[str, int] = before
            ) -> tuple[float, int]:
                ways = near.get(each)
                own = before[each]
                return (sum(place[way] for way in ways) / len(ways) if ways else own, own)

            layer.sort(key=middle)
    return layers


def _stacked(
    frames: Sequence[_Frame], between: Sequence[tuple[str, str]]
) -> tuple[dict[str, Placed], list[Placed]]:
    by_name = {frame.name: frame for frame in frames}
    columns = _ordered(_layers(list(by_name), between), between)
    boxes: dict[str, Placed] = {}
    placed: list[Placed] = []
    x = 1
    tall = max((_tall(column, by_name) for column in columns), default=0)
    for column in columns:
        y = 1 + (tall - _tall(column, by_name)) // 2
        for name in column:
            frame = by_name[name]
            width, height = frame.size
            placed.append(Placed(name, x, y, width, height))
            boxes.update((box.id, box) for box in _inside(frame, x, y))
            y += height + _GROUP_GAP_Y
        x += max(by_name[name].size[0] for name in column) + _GROUP_GAP_X
    return boxes, placed


def _tall(column: Sequence[str], by_name: Mapping[str, _Frame]) -> int:
    return sum(by_name[name].size[1] for name in column) + _GROUP_GAP_Y * (len(column) - 1)


def _inside(frame: _Frame, x: int, y: int) -> Iterable[Placed]:
    for n, column in enumerate(frame.columns):
        for m, each in enumerate(column):
            yield Placed(
                each,
                x + _PAD + n * (_WIDTH + _GAP_X),
                y + _HEAD + m * (_HEIGHT + _GAP_Y),
            )


def _route(edge: Edge, start: Placed, end: Placed) -> Route:
    if not edge.directed and start.x == end.x:
        top, bottom = sorted((start, end), key=lambda box: box.y)
        middle = top.x + _WIDTH // 2
        return Route(edge, f"M{middle} {top.y + _HEIGHT}V{bottom.y}", None)
    y1, y2 = start.y + _HEIGHT // 2, end.y + _HEIGHT // 2
    if end.x > start.x:
        x1, x2 = start.x + _WIDTH, end.x
        tip = (x2, y2) if edge.directed else None
        if abs(y1 - y2) <= _STRAIGHT:
            return Route(edge, f"M{x1} {y1}H{x2}", tip)
        bend = max((x2 - x1) // 2, _GAP_X // 2)
        return Route(edge, f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}", tip)
    x1, x2 = start.x + _WIDTH, end.x
    low = max(start.y, end.y) + _HEIGHT + _GROUP_GAP_Y
    path = (
        f"M{x1} {y1}C{x1 + _GAP_X} {y1} {x1 + _GAP_X} {low} {x1 - _WIDTH // 2} {low}"
        f"H{x2 + _WIDTH // 2}C{x2 - _GAP_X} {low} {x2 - _GAP_X} {y2} {x2} {y2}"
    )
    return Route(edge, path, (x2, y2) if edge.directed else None)
