"""Draw topologies and records.

There are two kinds of cases. With `one_source`, the result must not depend on how the input is cut
into batches. Such a case leaves out everything that depends on batches: several source topics,
wall-clock punctuators, a repartition edge below several tasks, null keys that are spread by their
place in a batch, and paths through batch processors that join other paths. Without `one_source`,
everything may be combined, and a run is comparable only with another run of the same batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from kstreams import INT64
from kstreams.partitioner import partition_of
from tests.support.generated.case import Batch, Case, RawRecord
from tests.support.generated.topology_plan import (
    DEAD_LETTERS,
    EdgePlan,
    NodePlan,
    Plan,
    SinkPlan,
    SourcePlan,
)

__all__ = ("cases",)

_KEYS = ("a", "b", "c", "d", "é")
_BAD = b"\xff\xfe"
_STATEFUL = ("count", "sum", "collect", "batch-count", "fragile", "wall-collect")
_ANYWHERE = ("add", "keep", "twice", "rekey", "branch", "batch-add")


@dataclass(frozen=True)
class _Handle:
    """A possible parent node.

    Attributes:
        group: Number of the group.
        moved: The key may have changed since the group's entry.
        batched: The node forwards whole tables, and so at another time than records.
        ticked: A punctuator forwards too; its failures belong to no record.
    """

    name: str
    group: int
    moved: bool = False
    batched: bool = False
    ticked: bool = False


@dataclass
class _Drawing:
    """A plan under construction."""

    draw: Any
    one_source: bool
    on_error: str
    handles: list[_Handle] = field(default_factory=list)
    nodes: list[NodePlan | EdgePlan] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    stores: dict[str, tuple[int, bool]] = field(default_factory=dict)

    def add(self, kind: str, parents: Sequence[_Handle], store: str | None, number: int) -> None:
        name = f"n{len(self.nodes)}"
        names = tuple(parent.name for parent in parents)
        self.used.update(names)
        self.nodes.append(NodePlan(name, kind, names, number, store))
        moved = kind == "rekey" or any(parent.moved for parent in parents)
        batched = kind.startswith("batch") or any(parent.batched for parent in parents)
        ticked = "collect" in kind or any(parent.ticked for parent in parents)
        outputs = [f"{name}.low", f"{name}.high"] if kind == "branch" else [name]
        self.handles += [
            _Handle(each, parents[0].group, moved, batched, ticked) for each in outputs
        ]

    def add_node(self, group: int) -> None:
        draw = self.draw
        parents = self.parents(group)
        kind = draw(st.sampled_from(self.kinds(parents)))
        if kind in ("branch", "rekey", "where", "late"):
            parents = parents[:1]
        store = None
        if kind in _STATEFUL:
            batched = kind == "batch-count" or any(parent.batched for parent in parents)
            store = self.store(group, batched=batched)
            if store is None:
                kind = "add"
        number = draw(st.integers(2, 30 if "collect" in kind or kind == "late" else 7))
        self.add(kind, parents, store, number)

    def parents(self, group: int) -> list[_Handle]:
        """Draw one or two parents of a group, on one kind of path."""
        own = [handle for handle in self.handles if handle.group == group]
        first = self.draw(st.sampled_from(own))
        second = self.draw(st.sampled_from(own))
        combine = not self.one_source or not (first.batched or second.batched)
        if second != first and combine and self.draw(st.booleans()):
            return [first, second]
        return [first]

    def kinds(self, parents: Sequence[_Handle]) -> list[str]:
        kinds = [*_ANYWHERE]
        moved = any(parent.moved for parent in parents)
        batched = any(parent.batched for parent in parents)
        if not moved:
            kinds += ["count", "count", "sum", "collect", "batch-count"]
            kinds += [] if self.one_source else ["wall-collect"]
            apart = batched or any(parent.ticked for parent in parents)
            kinds += ["fragile"] if self.on_error != "fail" and not apart else []
        if not (batched and self.one_source):
            kinds += ["late", "merge"]
            kinds += ["where"] if parents[0].group == 0 or not self.one_source else []
        return kinds

    def store(self, group: int, *, batched: bool) -> str | None:
        """Draw a store; record nodes of one group may share it."""
        free = [
            name
            for name in ("s1", "s2")
            if name not in self.stores or (not batched and self.stores[name] == (group, False))
        ]
        if not free:
            return None
        name: str = self.draw(st.sampled_from(free))
        self.stores[name] = (group, batched)
        return name


@st.composite
def cases(draw: Any, *, one_source: bool = False) -> Case:
    """Draw a case; see the module's docstring."""
    on_error = draw(st.sampled_from(["fail", "skip", "dead-letter"]))
    count = 1 if one_source else draw(st.integers(1, 2))
    policies = st.sampled_from(["drop", "drop", "pass"])
    sources = tuple(SourcePlan(f"in{n}", draw(policies), draw(policies)) for n in range(count))
    plain = all(source.nulls == source.null_keys == "drop" for source in sources)
    drawing = _Drawing(draw, one_source, on_error)
    drawing.handles += [_Handle(source.name, 0) for source in sources]
    for _ in range(draw(st.integers(1, 5))):
        drawing.add_node(0)
    has_edge = draw(st.booleans())
    several = st.integers(1, 3 if plain or not one_source else 1)
    if has_edge:
        _add_edge(drawing, draw(several))
    sinks = _add_sinks(drawing)
    inputs = 1 if one_source and has_edge else draw(st.integers(1, 3))
    partitions = {source.name: inputs for source in sources} | {DEAD_LETTERS: 1}
    for sink in sinks:
        for topic in [f"{sink.name}-0", f"{sink.name}-1"] if sink.by else [sink.name]:
            partitions[topic] = draw(several)
    plan = Plan(sources, tuple(drawing.nodes), sinks, on_error, partitions)
    return Case(plan, draw(_batches(plan, one_source=one_source)))


def _add_edge(drawing: _Drawing, partitions: int) -> None:
    drawing.add("untyped", drawing.parents(0), None, 1)
    above = drawing.handles[-1].name
    drawing.used.add(above)
    drawing.nodes.append(EdgePlan("edge", (above,), partitions))
    drawing.handles.append(_Handle("edge", 1))
    for _ in range(drawing.draw(st.integers(1, 4))):
        drawing.add_node(1)


def _add_sinks(drawing: _Drawing) -> tuple[SinkPlan, ...]:
    """Put a stamp and a sink below each handle that nothing reads, and some others."""
    sinks: list[SinkPlan] = []
    for handle in list(drawing.handles):
        if handle.name in drawing.used and drawing.draw(st.integers(0, 3)):
            continue
        drawing.add("stamp", [handle], None, 1)
        by = drawing.draw(st.integers(0, 3)) == 0
        sinks.append(SinkPlan(f"out{len(sinks)}", (drawing.nodes[-1].name,), by))
    return tuple(sinks)


@st.composite
def _batches(draw: Any, plan: Plan, *, one_source: bool) -> tuple[Batch, ...]:
    if one_source:
        return (Batch(tuple(draw(st.lists(_records(plan), max_size=25)))),)
    batches = []
    wall_ms = 0
    for _ in range(draw(st.integers(1, 4))):
        records = tuple(draw(st.lists(_records(plan), min_size=1, max_size=10)))
        wall_ms += draw(st.integers(0, 40))
        batches.append(Batch(records, wall_ms))
    return tuple(batches)


@st.composite
def _records(draw: Any, plan: Plan) -> RawRecord:
    topic = draw(st.sampled_from(plan.sources)).name
    kind = draw(st.integers(0, 19))
    bad = plan.on_error != "fail"
    key: bytes | None = draw(st.sampled_from(_KEYS)).encode()
    value: bytes | None = INT64.serialize(draw(st.integers(0, 20)))
    if kind == 0:
        key = None
    elif kind == 1:
        value = None
    elif kind == 2 and bad:
        key = _BAD
    elif kind in (3, 4) and bad:
        value = _BAD
    count = plan.partitions[topic]
    partition = draw(st.integers(0, count - 1)) if key is None else partition_of(key, count)
    headers = draw(st.sampled_from([(), (), (), (("h", b"1"), ("h", None))]))
    return RawRecord(topic, partition, key, value, draw(st.integers(0, 80)), headers)
