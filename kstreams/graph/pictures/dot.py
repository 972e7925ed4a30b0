"""A topology as a Graphviz digraph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams.graph.pictures.drawing import Box, Shape, draw, printable

if TYPE_CHECKING:
    from kstreams.graph.topology import Topology

__all__ = ("to_dot",)

_SHAPES = {
    Shape.SOURCE: "shape=box, style=rounded",
    Shape.PROCESSOR: "shape=box",
    Shape.REPARTITION: "shape=hexagon",
    Shape.LOOP: "shape=octagon",
    Shape.SINK: "shape=box, style=rounded",
    Shape.STORE: "shape=cylinder",
    Shape.TOPIC: "shape=cds",
    Shape.OUTSIDE: "shape=ellipse",
}


def to_dot(topology: Topology) -> str:
    """Return a Graphviz digraph: groups as clusters, stores as cylinders.

    Topics are tags, repartition edges are hexagons, loops are octagons. The text is the same for
    equal topologies, and valid for any names.

    Source: https://graphviz.org/doc/info/lang.html
    """
    drawing = draw(topology)
    lines = [f"digraph {_quoted(drawing.title)} {{", "  rankdir=LR;"]
    lines.extend(f"  {_box(box)}" for box in drawing.outside)
    for number, (name, boxes) in enumerate(drawing.groups):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quoted(name)};")
        lines.extend(f"    {_box(box)}" for box in boxes)
        lines.append("  }")
    for arrow in drawing.arrows:
        options = "" if arrow.directed else " [dir=none, style=dashed]"
        lines.append(f"  {arrow.start} -> {arrow.end}{options};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _box(box: Box) -> str:
    return f"{box.id} [{_SHAPES[box.shape]}, label={_quoted(box.label)}];"


def _quoted(text: str) -> str:
    """Quote a string for Graphviz, with backslashes, quotes and ampersands escaped."""
    escaped = printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{escaped}"'
