"""The bytes at which ranges of keys begin and end."""

from __future__ import annotations

from kstreams._types import K
from kstreams.serde.base import Serde

__all__ = ("after_prefix", "key_bounds")


def key_bounds(
    ordered: Serde[K], start: K | None, end: K | None
) -> tuple[bytes | None, bytes | None]:
    """Return the bytes of a range's bounds; None leaves a side open.

    Args:
        ordered: Serde of the keys, whose bytes sort as they do.
        start: The first key.
        end: The key to stop before.

    Raises:
        SerializationError: A bound is no such key.
    """
    return (
        None if start is None else ordered.serialize(start),
        None if end is None else ordered.serialize(end),
    )


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the first key after all that start with a prefix; None when there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else None
