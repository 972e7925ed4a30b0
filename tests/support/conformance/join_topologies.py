"""The topology of each join, made with the public builder: one method for each kind of join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kstreams import TEXT, Node, Topic, TopologyBuilder
from kstreams.durations import milliseconds
from kstreams.emit import each_update
from kstreams.joins import Within, inner, left, outer, within
from kstreams.processors.columns import Execution
from kstreams.stores import (
    join_store,
    queue_store,
    timestamped_store,
    versioned_key_value_store,
)
from tests.support.conformance.case import Case
from tests.support.models.join_models import foreign_key, joined

__all__ = ("ForeignKey", "JoinNames", "add_join", "join_topology", "side_topic")

ForeignKey = Callable[[str, str], "str | None"]
"""Returns the foreign key of a left row, from its key and its value."""

_JOINERS: dict[str, Any] = {"inner": inner, "left": left, "outer": outer}


@dataclass(frozen=True)
class JoinNames:
    """Names of the nodes and stores of one case among others.

    Attributes:
        suffix: Suffix of the names of nodes and stores.
        foreign: Extractor of foreign keys.
        execution: Execution of joins that can run by columns.
    """

    suffix: str = ""
    foreign: ForeignKey = lambda _, value: foreign_key(value)
    execution: Execution = "records"

    def __call__(self, name: str) -> str:
        """Return a name with the suffix of this case."""
        return f"{name}{self.suffix}"


def side_topic(name: str, **options: Any) -> Topic[Any, Any]:
    """Return the topic of a side; records with null keys or values are forwarded to the join."""
    return Topic(name, TEXT, TEXT, nulls="pass", null_keys="pass", **options)


def join_topology(case: Case, builder: TopologyBuilder, execution: Execution) -> Node[Any, Any]:
    """Add sources, tables and the join of a case; return the results."""
    names = JoinNames(execution=execution)
    sides: list[Any] = []
    for side in ("left", "right"):
        topic = side_topic(side)
        if is_table(case, side):
            sides.append(builder.add_table(side, topic, store=table_store(case, side, names)))
        else:
            sides.append(builder.add_source(side, topic))
    return add_join(builder, case, sides[0], sides[1], names)


def is_table(case: Case, side: str) -> bool:
    """Return whether a side of a case's join is a table."""
    return case.op in ("tt_join", "fk_join") or (case.op == "st_join" and side == "right")


def table_store(case: Case, side: str, names: JoinNames) -> Any:
    """Return the store of a side that is a table."""
    name, retention = names(f"{side}-rows"), case.options.get("versioned")
    if retention is None or case.op != "st_join":
        return timestamped_store(name, key=TEXT, value=TEXT)
    span = milliseconds(retention)
    return versioned_key_value_store(name, key=TEXT, value=TEXT, retention=span)


def add_join(
    builder: TopologyBuilder,
    case: Case,
    left_side: Any,
    right_side: Any,
    names: JoinNames,
) -> Node[Any, Any]:
    """Join two nodes or tables as the case requires; return a stream of all results.

    Raises:
        ValueError: The case does not run with this execution.
    """
    execution = names.execution
    if execution == "columns" and case.op not in ("ss_join", "st_join"):
        raise ValueError(f"case {case.name}: {case.op} does not run by columns")
    name, joiner = names("join"), _JOINERS[case.how](joined)
    match case.op:
        case "ss_join":
            store = join_store(names("kept"), key=TEXT, left=TEXT, right=TEXT)
            near = window_of(case)
            return builder.join_streams(
                name,
                left_side,
                right_side,
                joiner,
                within=near,
                store=store,
                execution=execution,
            )
        case "tt_join":
            table: Any = builder.join_tables(name, left_side, right_side, joiner)
        case "fk_join":
            full = timestamped_store(names("full"), key=TEXT, value=TEXT)
            table = builder.join_foreign(
                name, left_side, right_side, joiner, by=names.foreign, store=full
            )
        case "st_join" if "grace" in case.options:
            grace = milliseconds(case.options["grace"])
            waiting = queue_store(names("waiting"), key=TEXT, value=TEXT)
            return builder.join_as_of(
                name,
                left_side,
                right_side,
                joiner,
                grace=grace,
                waiting=waiting,
                execution=execution,
            )
        case "st_join":
            return builder.join_table(name, left_side, right_side, joiner, execution=execution)
        case _:
            raise ValueError(f"case {case.name}: {case.op!r} is no join")
    return builder.to_stream(names("results"), table, emit=each_update())


def window_of(case: Case) -> Within:
    """Return the greatest time difference of two joined stream records."""
    before = case.options.get("before", 0)
    after, grace = case.options.get("after", before), case.options.get("grace", 0)
    return within(milliseconds(before), milliseconds(after), grace=milliseconds(grace))
