"""Notes of an upgrade plan about new or changed joins and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kstreams.graph.topology import PartitionGroup, Topology

__all__ = ("join_notes", "table_notes")

_SPANS = ("before", "after", "grace")


def join_notes(group: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes about new, removed and changed joins of a group.

    Args:
        group: Name of the group.
        old: The group in the checkpoint's shape.
        new: The group in the topology's shape.
    """
    before, now = old.get("joins", {}), new.get("joins", {})
    for name in sorted({*before, *now}):
        join = f"join {name!r} of group {group!r}"
        if name not in now:
            yield f"{join} is no longer in the topology"
        elif name not in before:
            yield f"{join} is new{_begins(now[name])}"
        else:
            yield from (f"{join}: {change}" for change in _changes(before[name], now[name]))


def table_notes(
    topology: Topology, old: Mapping[str, Any], records: Callable[[str], int] | None
) -> Iterator[str]:
    """Yield notes on new tables, which are read before their group's existing streams continue.

    Args:
        topology: The new topology.
        old: The checkpoint's shape.
        records: Returns the number of records of a topic; None if it is not known.
    """
    known = {topic for parts in old.values() for topic in parts["sources"]}
    for group in topology.groups:
        goes_on = any(source.topic.name in known for source in group.sources)
        for source in group.sources:
            topic = source.topic.name
            is_table = source.name in group.table_entries
            if not goes_on or not is_table or topic in known or source.start != "earliest":
                continue
            of = ", from the start of" if records is None else f": {records(topic):,} records of"
            yield f"{_tables(group, source.name)} is read first{of} topic {topic!r}"


def _tables(group: PartitionGroup, source: str) -> str:
    """Return the names of the tables that a source feeds, as text."""
    made, below = [], {source}
    for node in group.processors:
        if below.intersection(node.parents):
            if node.makes_table:
                made.append(repr(node.name))
            else:
                below.add(node.name)
    return f"table{'s' if len(made) > 1 else ''} {', '.join(made)}"


def _begins(terms: Mapping[str, Any]) -> str:
    return ": it joins only records that arrive after the upgrade" if "before" in terms else ""


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if old.get("how") != new.get("how"):
        yield (
            f"its kind was {old.get('how')}, now {new.get('how')}: this applies to records "
            "that arrive after the upgrade"
        )
    before, now = ([terms.get(span, 0) for span in _SPANS] for terms in (old, new))
    if before == now:
        return
    if "before" not in new:
        yield (
            f"it had {_shown(old)}, and now has {_shown(new)}: this applies to records that "
            "arrive after the upgrade"
        )
        return
    longer = any(one < other for one, other in zip(before, now, strict=True))
    effect = (
        "records that have expired already are not joined" if longer else "records expire sooner"
    )
    yield f"it had {_shown(old)}, and now has {_shown(new)}: {effect}"


def _shown(terms: Mapping[str, Any]) -> str:
    return ", ".join(f"{span} {terms[span]:,} ms" for span in _SPANS if span in terms)
