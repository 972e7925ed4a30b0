"""The version id of a pointer, recomputed from the objects that it names.

A delta contains the previous version id, and the delta's digest determines the next version id. A
merged delta contains its first and last version id, and a pointer the version id of its snapshot:
these are trusted, all others are computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.state.log.delta import DIGEST_BYTES, DeltaHeader
from kstreams.state.log.pointer import ObjectRef, Pointer, version_id_after

__all__ = ("Link", "line_problem", "link_of")


@dataclass(frozen=True)
class Link:
    """The versions before and after the changes of an object.

    Attributes:
        first: The first version whose changes the object contains; 0 if not recorded.
        version: The last version whose changes the object contains.
        parent: The version id before these changes; empty if not recorded.
        version_id: The version id after these changes; empty if not recorded.
    """

    first: int
    version: int
    parent: str
    version_id: str


def link_of(header: DeltaHeader, data: bytes) -> Link:
    """Return the versions that a delta, merged delta or chunk connects; see `Link`.

    Args:
        header: The header of the object.
        data: The complete, undamaged bytes of the object.
    """
    if header.kind == "delta":
        version_id = version_id_after(header.parent, data[-DIGEST_BYTES:])
        return Link(header.version, header.version, header.parent, version_id)
    if not header.version_id:  # a chunk, or a merged delta of an older release
        return Link(0, header.version, "", "")
    return Link(header.first, header.version, header.parent, header.version_id)


def line_problem(pointer: Pointer, links: Mapping[ObjectRef, Link]) -> str:
    """Return why a pointer's deltas do not lead to its version id, as text; empty if they do.

    Args:
        pointer: The version.
        links: The link of each of the pointer's deltas.
    """
    at, version_id = pointer.base, pointer.base_version_id
    for ref in pointer.deltas:
        link = links[ref]
        if link.first > at + 1:
            return f"deltas are missing between version {at} and {str(ref)!r}"
        follows = link.first == at + 1 and version_id and link.parent
        if follows and link.parent != version_id:
            return f"{str(ref)!r} does not continue the delta before it"
        at, version_id = link.version, link.version_id
    if version_id and (at, version_id) != (pointer.version, pointer.version_id):
        found, expected = version_id[:16], pointer.version_id[:16]
        return f"it ends at version {at} with the id {found}, not with {expected}"
    return ""
