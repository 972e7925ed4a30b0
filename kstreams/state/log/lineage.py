"""The lineage of a pointer, recomputed from the objects that it names.

A delta contains the previous lineage, and its own digest determines the next one. A merged delta
contains its first and its last lineage, and the pointer of a snapshot its lineage: these are
trusted, all others are computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.state.log.delta import DIGEST_BYTES, DeltaHeader
from kstreams.state.log.pointer import Pointer, lineage_after

__all__ = ("Link", "line_problem", "link_of")


@dataclass(frozen=True)
class Link:
    """An object's place in a line of versions.

    Attributes:
        first: The first version whose changes it holds; 0 where that is not recorded.
        version: The last one.
        parent: The lineage that it builds on; empty where that is not recorded.
        lineage: The one that it leads to; empty where that is not recorded.
    """

    first: int
    version: int
    parent: str
    lineage: str


def link_of(header: DeltaHeader, data: bytes) -> Link:
    """Return the place of an object that is whole."""
    if header.kind == "delta":
        lineage = lineage_after(header.parent, data[-DIGEST_BYTES:])
        return Link(header.version, header.version, header.parent, lineage)
    if not header.lineage:  # a chunk, or a merger from before they said
        return Link(0, header.version, "", "")
    return Link(header.first, header.version, header.parent, header.lineage)


def line_problem(pointer: Pointer, links: Mapping[str, Link]) -> str:
    """Return the problem of a version's lineage; empty without one.

    Args:
        pointer: The version.
        links: The lineage of each of its deltas, by name.
    """
    at, lineage = pointer.base, pointer.base_lineage
    for ref in pointer.deltas:
        link = links[ref.name]
        if link.first > at + 1:
            return f"there is nothing between version {at} and {ref.name!r}"
        follows = link.first == at + 1 and lineage and link.parent
        if follows and link.parent != lineage:
            return f"{ref.name!r} does not follow what comes before it"
        at, lineage = link.version, link.lineage
    if lineage and (at, lineage) != (pointer.version, pointer.lineage):
        return f"it ends at version {at} of lineage {lineage[:16]}, not at {pointer.lineage[:16]}"
    return ""
