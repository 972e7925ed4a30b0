"""The encoded bounds of ranges of keys."""

from __future__ import annotations

from kstreams._types import K
from kstreams.serde.base import Serde

__all__ = ("after_prefix", "key_bounds")


def key_bounds(
    ordered: Serde[K], start: K | None, end: K | None
) -> tuple[bytes | None, bytes | None]:
    """Return the encoded bounds of a range; None is unbounded.

    Args:
        ordered: Serde of the keys, whose bytes sort like the keys.
        start: The first key.
        end: The key to stop before.

    Raises:
        SerializationError: The serde rejects a bound.
    """
    return (
        None if start is None else ordered.serialize(start),
        None if end is None else ordered.serialize(end),
    )


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the first key after all keys with a prefix; None if the prefix is all 0xFF bytes."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else None
