"""The topology of an app, as a diagram and as a list, with the activity of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from urllib.parse import quote

from kstreams.quoting import one_line
from kstreams.state.log.totals import NodeCounts
from kstreams.telemetry.outline import NodeOutline, Outline, StoreOutline
from kstreams_serve.pages import texts
from kstreams_serve.pages.activity import Activity
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.layout import Edge, Item, Layout, laid_out

__all__ = ("Box", "Group", "Picture", "picture_of")

_THINNEST, _THICKEST = 1.2, 4.0
_STORE = "store "
_KINDS = {
    "source": "source",
    "sink": "sink",
    "repartition": "repartition",
    "loop": "loop",
    "loop-end": "end of a loop",
    "join": "join",
    "processor": "processor",
}


@dataclass(frozen=True)
class Box:
    """A node or a store in a diagram.

    Attributes:
        id: The id.
        name: The name.
        kind: The kind of node, or `store`.
        description: A short description.
        label: Name, kind and description in a sentence.
        href: The path of its page, relative to the app's pages.
        share: The share of the processing time, 0 to 1; None if unknown.
        dropped: The number of dropped records.
    """

    id: str
    name: str
    kind: str
    description: str
    label: str
    href: str
    share: float | None = None
    dropped: int = 0


@dataclass(frozen=True)
class Group:
    """The boxes of a partition group, in topological order.

    Attributes:
        name: The name.
        boxes: The nodes, each followed by its stores.
    """

    name: str
    boxes: Sequence[Box]


@dataclass(frozen=True)
class Picture:
    """A topology with its layout.

    Attributes:
        layout: The layout.
        groups: The groups of boxes.
        rates: The input records per second, by node.
    """

    layout: Layout
    groups: Sequence[Group]
    rates: Mapping[str, float]

    @property
    def boxes(self) -> list[Box]:
        """All boxes of all groups."""
        return [box for group in self.groups for box in group.boxes]

    def width_of(self, edge: Edge) -> str:
        """Return the line width of an edge, which depends on the input rate of its target."""
        rate = self.rates.get(edge.end, 0.0)
        return f"{min(_THINNEST + 0.5 * log10(1 + rate), _THICKEST):.1f}"

    @staticmethod
    def short(text: str, most: int) -> str:
        """Return a text, cut to a maximum length with an ellipsis."""
        line = one_line(text, 200)
        return line if len(line) <= most else f"{line[: most - 1]}…"


def picture_of(facts: AppFacts, activity: Activity) -> Picture | None:
    """Return the topology of an app; None if it is not recorded.

    Args:
        facts: The data of the app.
        activity: The recent activity.
    """
    outline = facts.recording.outline
    if outline is None:
        return None
    counts = {
        name: found for status in facts.statuses for name, found in status.totals.nodes.items()
    }
    groups, items = [], []
    for group in outline.groups:
        stores = {store.name: store for store in group.stores}
        boxes: list[Box] = []
        for node in group.nodes:
            boxes.append(_node_box(node, counts.get(node.name, NodeCounts()), activity))
            items.append(Item(node.name, group.name))
            for name in node.stores:
                if name in stores:
                    boxes.append(_store_box(stores.pop(name)))
                    items.append(Item(f"{_STORE}{name}", group.name, below=node.name))
        groups.append(Group(group.name, boxes))
    return Picture(laid_out(items, list(_edges(outline))), groups, activity.rates)


def _edges(outline: Outline) -> Sequence[Edge]:
    flows = [Edge(start, end) for start, end in outline.edges]
    nodes = [node for group in outline.groups for node in group.nodes]
    links = [Edge(node.name, f"{_STORE}{name}", directed=False)
             for node in nodes for name in node.stores]  # fmt: skip
    looks = [Edge(f"{_STORE}{name}", node.name, directed=False)
             for node in nodes for name in node.reads if name not in node.stores]  # fmt: skip
    return [*flows, *links, *looks]


def _node_box(node: NodeOutline, counts: NodeCounts, activity: Activity) -> Box:
    kind = _KINDS.get(node.kind, node.kind)
    if activity.is_recorded:
        figure = texts.rate(activity.rates.get(node.name, 0.0))
    else:
        figure = f"{texts.amount(counts.records_in)} in total"
    about = node.topic or ("" if node.kind == "processor" else kind)
    description = f"{about} · {figure}" if about else figure
    share = activity.shares.get(node.name) if activity.shares else None
    parts = [f"{kind} {node.name}", f"{node.topic}" if node.topic else "", figure]
    if share is not None:
        parts.append(f"{texts.share(share)} of the processing time")
    if counts.lost:
        parts.append(f"{texts.count(counts.lost)} dropped")
    href = f"/node?name={quote(node.name, safe='')}"
    label = ", ".join(part for part in parts if part)
    shown = share if node.kind in ("processor", "join") else None
    return Box(node.name, node.name, node.kind, description, label, href, shown, counts.lost)


def _store_box(store: StoreOutline) -> Box:
    href = f"/stores/{quote(store.name, safe='')}"
    return Box(f"{_STORE}{store.name}", store.name, "store", store.kind,
               f"store {store.name}, {store.kind}", href)  # fmt: skip
