"""The planner's reasons against execution by columns; suppliers add further reasons.

`Topology.describe` shows a reason as `records (<reason>)`; an error shows it as `node 'x' cannot
run by columns: <reason>`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kstreams.processors.column_form import Reason

__all__ = (
    "BOTH_INPUTS",
    "INTERCEPTED",
    "above_by_records",
    "below_processor",
    "continues_after_failures",
    "follows_loop",
    "join_by_records",
    "met_below",
    "mixed_below",
    "needs_records",
    "other_group",
    "other_serdes",
    "store_shared",
    "stores_met_below",
    "table_by_records",
    "table_read",
)

BOTH_INPUTS: Reason = "a record may reach both of its inputs"
INTERCEPTED: Reason = "an interceptor has no bind_columns"


def continues_after_failures(entry: str) -> Reason:
    """Return why columns are not used for a group with an `on_error` that skips failed records.

    `entry` is the source, repartition edge or loop that has the `on_error`.
    """
    return f"{entry!r} continues after failed records (on_error)"


def below_processor(parent: str) -> Reason:
    """Return why columns are not used for a node that is not directly below a source."""
    return f"it is below processor {parent!r}, rather than directly below a source"


def above_by_records(operator: str, why: Reason) -> Reason:
    """Return why columns are not used for a node below an operator that runs by records.

    `why` is the reason why the operator runs by records.
    """
    return _with_cause(f"operator {operator!r} above it runs by records", why)


def needs_records(node: str, why: Reason | None = None) -> Reason:
    """Return why columns are not used for an operator above a node that runs by records.

    `why` is the reason why the node runs by records; None if it always does.
    """
    return _with_cause(f"node {node!r} below it runs by records", why)


def follows_loop(loop: str) -> Reason:
    """Return why columns are not used for a node below a loop.

    The records of the loop do not advance stream time.
    """
    return f"records of loop {loop!r} do not move stream time"


def other_serdes(entries: Iterable[str]) -> Reason:
    """Return why columns are not used for a node below sources with different serdes."""
    return f"its sources {' and '.join(map(repr, entries))} have different serdes"


def store_shared(user: str) -> Reason:
    """Return why a node cannot run by columns: another node also uses its store."""
    return f"node {user!r} also uses its store"


def mixed_below(node: str) -> Reason:
    """Return why a parent of `node` cannot run by columns: `node` also has other parents."""
    return f"node {node!r} below it also gets records from other nodes"


def met_below(node: str) -> Reason:
    """Return why a node cannot run by columns: its records reach `node` on several paths."""
    return f"its records reach node {node!r} below it on several paths"


def stores_met_below(one: str, other: str) -> Reason:
    """Return why a node cannot run by columns: two nodes below it use one store."""
    return f"nodes {one!r} and {other!r} below it use one store"


def table_read(reader: str) -> Reason:
    """Return why a table cannot run by columns: `reader` is not a columnar lookup join."""
    return f"node {reader!r} receives its changes or reads its store"


def join_by_records(join: str, why: Reason | None = None) -> Reason:
    """Return why a table does not run by columns: a join by records looks it up.

    `why` is the reason why the join runs by records; None if it is not known.
    """
    return _with_cause(f"join {join!r} runs by records", why)


def table_by_records(table: str, why: Reason | None = None) -> Reason:
    """Return why a join does not run by columns: its table runs by records.

    `why` is the reason why the table runs by records; None if it is not known.
    """
    return _with_cause(f"its table {table!r} runs by records", why)


def other_group(table: str) -> Reason:
    """Return why columns are not used for a join with a table of another group."""
    return f"table {table!r} is in another partition group"


def _with_cause(reason: Reason, why: Reason | None) -> Reason:
    return reason if why is None else f"{reason}: {why}"
