"""A model of the expected result of a case: one record at a time, with plain dictionaries.

It is independent of the library's tasks: no columns, no overlay, no batches. A record that fails is
undone by discarding a copy. It supports only cases with one source.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from kstreams.partitioner import partition_of
from kstreams.processors import Headers
from kstreams.state.log.totals import NodeCounts
from tests.support.generated.case import Case, RawRecord, Result
from tests.support.generated.topology_plan import DEAD_LETTERS, EdgePlan, NodePlan, SinkPlan

__all__ = ("run_model",)


@dataclass(frozen=True)
class _Item:
    key: str | None
    value: int | None
    time: int
    headers: Headers
    came_from: str = "nowhere"


@dataclass
class _Task:
    """The state of a task."""

    name: str
    time: int = -1
    stores: dict[str, dict[str, int]] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    next_offset: int = 0


@dataclass
class _Effects:
    """Side effects of a record; discarded when the record fails."""

    rows: list[tuple[str, _Item]] = field(default_factory=list)
    edge: list[_Item] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    taken: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)


class _Failed(Exception):
    pass


def run_model(case: Case) -> Result:
    """Return the expected result of a case with one source."""
    model = _Model(case)
    for record in case.records:
        model.take(record)
    return model.result()


class _Model:
    def __init__(self, case: Case) -> None:
        self.plan = case.plan
        (self.source,) = case.plan.sources
        self.out = Result()
        self.taken: Counter[str] = Counter()
        self.given: Counter[str] = Counter()
        self.dropped: dict[str, Counter[str]] = {}
        self.below: dict[str, list[Any]] = {}
        for item in (*self.plan.nodes, *self.plan.sinks):
            for parent in item.parents:
                self.below.setdefault(parent, []).append(item)
        self.tasks: dict[tuple[str, int], _Task] = {}
        order = [[node.name for node in group.nodes] for group in case.plan.topology().groups]
        self.scheduling = {name: -place for names in order for place, name in enumerate(names)}

    def task(self, entry: str, partition: int) -> _Task:
        return self.tasks.setdefault((entry, partition), _Task(f"{entry}/{partition}"))

    def take(self, raw: RawRecord) -> None:
        """Process a record of the source."""
        task = self.task(raw.topic, raw.partition)
        offset = task.next_offset
        task.next_offset += 1
        self.taken[raw.topic] += 1
        if raw.key is None and self.source.null_keys == "drop":
            return self.count(raw.topic, "null-key")
        if raw.value is None and self.source.nulls == "drop":
            return self.count(raw.topic, "null-value")
        try:
            key = None if raw.key is None else raw.key.decode()
            value = None if raw.value is None else _number(raw.value)
        except ValueError:
            return self.refuse("DeserializationError", raw, offset)
        place = f"{raw.topic}/{raw.partition}/{offset}"
        item = _Item(key, value, raw.timestamp, raw.headers, place)
        for moved in self.enter(task, raw.topic, item, raw, offset):
            data = None if moved.key is None else moved.key.encode()
            count = next(n.partitions for n in self.plan.nodes if isinstance(n, EdgePlan))
            target = 0 if data is None else partition_of(data, count)
            content = None if moved.value is None else moved.value.to_bytes(8, "big", signed=True)
            again = RawRecord("edge", 0, data, content, moved.time, moved.headers)
            self.enter(self.task("edge", target), "edge", moved, again, 0)
        return None

    def enter(
        self, task: _Task, entry: str, item: _Item, raw: RawRecord, offset: int
    ) -> list[_Item]:
        """Run a record through a group; return the records for the repartition edge."""
        task.time = max(task.time, item.time)
        kept = deepcopy((task.stores, task.due))
        effects = _Effects()
        try:
            self.forward(task, entry, item, effects)
        except _Failed:
            task.stores, task.due = kept
            effects = _Effects()
            self.refuse("ProcessingError", raw, offset)
        self.punctuate(task, entry, effects)
        for topic, row in effects.rows:
            self.write(topic, row)
        for node, reason in effects.dropped:
            self.count(node, reason)
        self.taken += effects.taken
        self.given += effects.given
        return effects.edge

    def punctuate(self, task: _Task, entry: str, effects: _Effects) -> None:
        """Fire the punctuators that stream time has made due, once, in the order of due times."""
        ticking = [
            node
            for node in self.plan.nodes
            if isinstance(node, NodePlan) and node.kind == "collect" and self.entry(node) == entry
        ]
        due = {node.name: task.due.setdefault(node.name, 0) for node in ticking}
        ready = [node for node in ticking if due[node.name] <= task.time]
        for node in sorted(ready, key=lambda node: (due[node.name], self.scheduling[node.name])):
            while task.due[node.name] <= task.time:
                task.due[node.name] += node.number
            store = task.stores.setdefault(node.store or "", {})
            for key in sorted(store, key=str.encode):
                if key in store:
                    self.forward(task, node.name, _Item(key, store[key], task.time, ()), effects)
                    store.pop(key, None)

    def entry(self, node: NodePlan | EdgePlan | SinkPlan) -> str:
        """Return the entry above a node."""
        parent = node.parents[0].split(".")[0]
        found = next((each for each in self.plan.nodes if each.name == parent), None)
        if found is None or isinstance(found, EdgePlan):
            return parent
        return self.entry(found)

    def forward(self, task: _Task, name: str, item: _Item, effects: _Effects) -> None:
        effects.given[name] += name in self.below
        for child in self.below.get(name, ()):
            effects.taken[f"to-{child.name}" if isinstance(child, SinkPlan) else child.name] += 1
            if isinstance(child, SinkPlan):
                effects.given[f"to-{child.name}"] += 1
                topic = f"{child.name}-{(item.value or 0) % 2}" if child.by else child.name
                effects.rows.append((topic, item))
            elif isinstance(child, EdgePlan):
                effects.edge.append(item)
            else:
                self.process(task, child, item, effects)

    def process(self, task: _Task, node: NodePlan, item: _Item, effects: _Effects) -> None:
        key, value, time, headers = item.key, item.value, item.time, item.headers

        def on(k: str | None, v: int | None, t: int = time, h: Headers = headers) -> None:
            self.forward(task, node.name, _Item(k, v, t, h, item.came_from), effects)

        match node.kind:
            case "add" | "batch-add":
                on(key, None if value is None else value + node.number)
            case "twice":
                on(key, value)
                if value is not None:
                    on(key, value + 1, time + 1)
            case "rekey":
                on(None if value is None else f"r{value % node.number}", value)
            case "untyped" | "merge":
                on(key, value)
            case "where":
                on(key, value, time, (*headers, ("at", item.came_from.encode())))
            case "stamp":
                on(key, value, time, (*headers, ("task", task.name.encode())))
            case "keep" | "late" | "branch":
                self.choose(task, node, item, effects)
            case _:
                self.stateful(task, node, item, effects, on)

    def choose(self, task: _Task, node: NodePlan, item: _Item, effects: _Effects) -> None:
        value = item.value
        if node.kind == "branch":
            low = value is not None and value % 10 < node.number
            branch = f"{node.name}.{'low' if low else 'high'}"
            effects.given[node.name] += 1
            effects.taken[branch] += 1
            self.forward(task, branch, item, effects)
        elif node.kind == "keep":
            if value is None or value % node.number != 0:
                self.forward(task, node.name, item, effects)
        elif item.time + node.number >= task.time:
            self.forward(task, node.name, item, effects)
        else:
            effects.dropped.append((node.name, "late"))

    def stateful(
        self, task: _Task, node: NodePlan, item: _Item, effects: _Effects, on: Any
    ) -> None:
        store = task.stores.setdefault(node.store or "", {})
        key, value = item.key, item.value
        if key is None:
            effects.dropped.append((node.name, "no-key"))
            return
        if node.kind == "sum" and value is None:
            store.pop(key, None)
            on(key, None)
        elif node.kind in ("sum", "collect"):
            store[key] = store.get(key, 0) + (value or 0)
            if node.kind == "sum":
                on(key, store[key])
        else:
            store[key] = store.get(key, 0) + 1
            if node.kind == "fragile":
                effects.dropped.append((node.name, "looked-at"))
            on(key, store[key])
            if node.kind == "fragile" and value is not None and value % node.number == 0:
                raise _Failed

    def count(self, node: str, reason: str) -> None:
        self.out.dropped[reason] = self.out.dropped.get(reason, 0) + 1
        self.dropped.setdefault(node, Counter())[reason] += 1

    def refuse(self, kind: str, raw: RawRecord, offset: int) -> None:
        """Skip a record or dead-letter it, and count it by the given reason."""
        if self.plan.on_error == "skip":
            return self.count(raw.topic, f"skipped-{kind}")
        self.count(raw.topic, f"dead-letter-{kind}")
        headers = (
            *raw.headers,
            ("kstreams-error-class", kind.encode()),
            ("kstreams-error-topic", raw.topic.encode()),
            ("kstreams-error-partition", str(raw.partition).encode()),
            ("kstreams-error-offset", str(offset).encode()),
        )
        row = (raw.key, raw.value, raw.timestamp, headers)
        self.out.outputs.setdefault((DEAD_LETTERS, 0), []).append(row)
        return None

    def write(self, topic: str, item: _Item) -> None:
        data = None if item.key is None else item.key.encode()
        content = None if item.value is None else item.value.to_bytes(8, "big", signed=True)
        partition = 0 if data is None else partition_of(data, self.plan.partitions[topic])
        rows = self.out.outputs.setdefault((topic, partition), [])
        rows.append((data, content, item.time, item.headers))

    def result(self) -> Result:
        names = {node.store for node in self.plan.nodes if isinstance(node, NodePlan)} - {None}
        self.out.stores = {str(name): {} for name in names}
        for task in self.tasks.values():
            for name, contents in task.stores.items():
                self.out.stores[name].update(contents)
        for node in sorted({*self.taken, *self.given, *self.dropped}):
            dropped = dict(self.dropped.get(node, {}))
            counts = NodeCounts(self.taken[node], self.given[node], dropped=dropped)
            if counts != NodeCounts():
                self.out.nodes[node] = counts
        return self.out


def _number(data: bytes) -> int:
    if len(data) != 8:
        raise ValueError(data)
    return int.from_bytes(data, "big", signed=True)
