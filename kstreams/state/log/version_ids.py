"""The version id of a pointer, recomputed from the objects that it names.

A delta contains the previous version id, and its own digest determines the next one. A merged delta
contains its first and its last version id, and the pointer of a snapshot its version id: these are
trusted, all others are computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.state.log.delta import DIGEST_BYTES, DeltaHeader
from kstreams.state.log.pointer import Pointer, version_id_after

__all__ = ("Link", "line_problem", "link_of")


@dataclass(frozen=True)
class Link:
    """An object's place in a line of versions.

    Attributes:
        first: The first version whose changes it holds; 0 where that is not recorded.
        version: The last one.
        parent: The version id that it builds on; empty where that is not recorded.
        version_id: The one that it leads to; empty where that is not recorded.
    """

    first: int
    version: int
    parent: str
    version_id: str


def link_of(header: DeltaHeader, data: bytes) -> Link:
    """Return the place of an object that is whole."""
    if header.kind == "delta":
        version_id = version_id_after(header.parent, data[-DIGEST_BYTES:])
        return Link(header.version, header.version, header.parent, version_id)
    if not header.version_id:  # a chunk, or a merger from before they said
        return Link(0, header.version, "", "")
    return Link(header.first, header.version, header.parent, header.version_id)


def line_problem(pointer: Pointer, links: Mapping[str, Link]) -> str:
    """Return the problem of a version's version id; empty without one.

    Args:
        pointer: The version.
        links: The version id of each of its deltas, by name.
    """
    at, version_id = pointer.base, pointer.base_version_id
    for ref in pointer.deltas:
        link = links[ref.name]
        if link.first > at + 1:
            return f"there is nothing between version {at} and {ref.name!r}"
        follows = link.first == at + 1 and version_id and link.parent
        if follows and link.parent != version_id:
            return f"{ref.name!r} does not follow what comes before it"
        at, version_id = link.version, link.version_id
    if version_id and (at, version_id) != (pointer.version, pointer.version_id):
        found, expected = version_id[:16], pointer.version_id[:16]
        return f"it ends at version {at} with the id {found}, not with {expected}"
    return ""
