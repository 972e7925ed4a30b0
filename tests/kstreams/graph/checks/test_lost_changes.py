"""Warning for a function that changes its own object: later batches lose the change."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import over, sum_
from kstreams.errors import LostChangesWarning
from kstreams.graph.checks.lost_changes import lost_change
from kstreams.operators import aggregate, filter_, flat_map, map_, map_values, peek
from kstreams.stores import timestamped_store
from kstreams.topology import to_function


class Counting:
    """Methods that change the object, and methods that do not."""

    def __init__(self) -> None:
        self.count = 0
        self.seen: set[str] = set()
        self.by_key: dict[str, int] = {}
        self.client: Any = None

    def counted(self, value: int) -> int:
        self.count += 1
        return value + self.count

    def assigned(self, value: int) -> int:
        previous, self.count = self.count, value
        return value - previous

    def item(self, value: int) -> int:
        self.by_key[str(value)] = value
        return value

    def added(self, value: int) -> int:
        self.seen.add(str(value))
        return value

    def deleted(self, value: int) -> int:
        del self.by_key[str(value)]
        return value

    def through(self, value: int) -> int:
        return self.counted(value)

    def noted(self, record: Record[str, int]) -> None:
        self.seen.add(record.key)

    def __call__(self, value: int) -> int:
        return self.counted(value)


@dataclass(frozen=True)
class Harmless:
    """Methods that change nothing."""

    factor: int = 2
    names: tuple[str, ...] = ()
    table: dict[int, int] = field(default_factory=dict)
    client: list[Any] = field(default_factory=lambda: [None])

    def scaled(self, value: int) -> int:
        result = value * self.factor
        result += len(self.names)
        local: list[int] = []
        local.append(result)
        return local[0]

    def looked_up(self, value: int) -> int:
        return self.table.get(value, 0)

    def nested(self, value: int) -> int:
        return self.scaled(self.looked_up(value))

    def __call__(self, value: int) -> int:
        return self.scaled(value)


class Connecting:
    """Creates its client once in each worker."""

    def __init__(self) -> None:
        self.client: Any = None

    def ask(self, value: int) -> int:
        if self.client is None:
            self.client = dict
        return len(self.client()) + value


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def around(*arguments: Any) -> Any:
        return function(*arguments)

    return around


def rebinding() -> Callable[[int], int]:
    total = 0

    def add(value: int) -> int:
        nonlocal total
        total += value
        return total

    return add


def reading() -> Callable[[int], int]:
    base = 3
    return lambda value: value + base


@pytest.mark.parametrize(
    ("function", "change"),
    [
        (Counting().counted, "self.count"),
        (Counting().assigned, "self.count"),
        (Counting().item, "self.by_key"),
        (Counting().added, "self.seen"),
        (Counting().deleted, "self.by_key"),
        (Counting().through, "self.count"),
        (Counting(), "self.count"),
        (rebinding(), "total"),
        (Harmless().scaled, ""),
        (Harmless().looked_up, ""),
        (Harmless().nested, ""),
        (Harmless(), ""),
        (Connecting().ask, ""),
        (reading(), ""),
        (str.upper, ""),
        ("-".join, ""),
        (len, ""),
    ],
)
def test_lost_change_check_finds_function_that_changes_its_object_or_an_outer_variable(
    function: Callable[..., Any], change: str
) -> None:
    assert lost_change(function) == change


def fold_by(function: Callable[..., Any]) -> Any:
    aggregator: Any = over(function, sum_(INT64))
    return aggregate(aggregator, store=timestamped_store("s", key=TEXT, value=INT64))


@pytest.mark.parametrize(
    ("make", "function"),
    [
        (lambda own: map_values(own.counted), "Counting.counted"),
        (lambda own: map_(lambda k, v: (k, v)), ""),
        (lambda own: filter_(own.through), "Counting.through"),
        (lambda own: peek(own.added), "Counting.added"),
        (lambda own: flat_map(partial(own.item)), "Counting.item"),
        (lambda own: map_values(partial(own)), "Counting"),
        (lambda own: map_values(logged(own.counted)), "Counting.counted"),
        (lambda own: fold_by(own.counted), "Counting.counted"),
        (lambda own: map_values(rebinding()), "rebinding.<locals>.add"),
        (lambda own: map_values(Harmless().scaled), ""),
    ],
)
def test_lost_changes_warning_names_node_and_function(
    make: Callable[[Any], Any], function: str
) -> None:
    builder = TopologyBuilder("lost")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_processor("node", make(Counting()), source)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        builder.build()
    found = [each.message for each in caught]
    assert len(found) == (1 if function else 0)
    for each in found:
        assert isinstance(each, LostChangesWarning)
        assert each.node == "node"
        assert each.function.endswith(function)
        assert "Hint: keep it in a store" in str(each)


def test_lost_changes_check_includes_function_of_sink() -> None:
    builder = TopologyBuilder("lost")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_sink("out", to_function(Counting().noted), source)
    with pytest.warns(LostChangesWarning, match=r"node 'out': Counting.noted changes self.seen"):
        builder.build()


def test_lost_changes_warning_has_file_that_calls_build() -> None:
    builder = TopologyBuilder("lost")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_processor("node", map_values(Counting().counted), source)
    with pytest.warns(LostChangesWarning) as caught:
        builder.build()
    assert caught[0].filename == __file__


def test_lost_changes_warning_survives_pickling() -> None:
    warning = LostChangesWarning("node", "function", "self.count")
    again = pickle.loads(pickle.dumps(warning))
    assert (again.node, again.function, again.change) == ("node", "function", "self.count")


def test_lost_changes_check_accepts_function_that_wraps_itself() -> None:
    def circular(value: str) -> str:
        return value

    circular.__wrapped__ = circular  # type: ignore[attr-defined]  # as a broken decorator leaves it
    assert lost_change(circular) == ""
    builder = TopologyBuilder("circular")
    source = builder.add_source("in", Topic("in", TEXT, TEXT))
    builder.add_processor("node", map_values(circular), source)
    assert "node" in builder.build().nodes
