"""A topology as a Mermaid flow chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kstreams.graph.pictures.drawing import Box, Shape, draw, printable

if TYPE_CHECKING:
    from kstreams.graph.topology import Topology

__all__ = ("to_mermaid",)

_SHAPES = {
    Shape.SOURCE: ("([", "])"),
    Shape.PROCESSOR: ("[", "]"),
    Shape.REPARTITION: ("{{", "}}"),
    Shape.LOOP: (">", "]"),
    Shape.SINK: ("([", "])"),
    Shape.STORE: ("[(", ")]"),
    Shape.TOPIC: ("[/", "/]"),
    Shape.OUTSIDE: ("((", "))"),
}
_PLAIN = frozenset(" -_.,:/()")
"""Characters without a special meaning in a quoted label, in addition to letters and digits."""


def to_mermaid(topology: Topology) -> str:
    """Return a Mermaid flow chart: groups as subgraphs, stores as cylinders.

    Topics are slanted boxes, repartition edges are hexagons, loops are flags. The text is the same
    for equal topologies, and valid for any names.

    Source: https://mermaid.js.org/syntax/flowchart.html
    """
    drawing = draw(topology)
    lines = ["flowchart LR"]
    lines.extend(f"  {_box(box)}" for box in drawing.outside)
    for number, (name, boxes) in enumerate(drawing.groups):
        lines.append(f'  subgraph g{number}["{_label(name)}"]')
        lines.extend(f"    {_box(box)}" for box in boxes)
        lines.append("  end")
    for arrow in drawing.arrows:
        lines.append(f"  {arrow.start} {'-->' if arrow.directed else '-.-'} {arrow.end}")
    return "\n".join(lines) + "\n"


def _box(box: Box) -> str:
    opening, closing = _SHAPES[box.shape]
    return f'{box.id}{opening}"{_label(box.label)}"{closing}'


def _label(text: str) -> str:
    return "".join(_escaped(printable(text))) or " "


def _escaped(text: str) -> Iterator[str]:
    """Yield the characters of a text, with special characters as Mermaid entities, `#<number>;`.

    A `-` or `.` before a space is escaped, too: Markdown interprets `- a` and `1. a` as lists.
    """
    for place, char in enumerate(text):
        plain = char.isalnum() or char in _PLAIN
        marks_a_list = char in "-." and text[place + 1 : place + 2] == " "
        yield char if plain and not marks_a_list else f"#{ord(char)};"
