"""The kind of stores of `at_most_every`, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffered import BufferedKind, BufferedResult
from kstreams.state.stores.changelog_form import ChangelogForm, RowForm
from kstreams.state.stores.rate_limit.store import RateLimitStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import key_of_timed_row
from kstreams.windowed import Windowed

__all__ = ("RATE_LIMIT", "RateLimitKind", "rate_limit_store")


_Live = RateLimitStore[Any, Any]
_Row = tuple[Windowed[Any], BufferedResult[Any]]
"""A window and its buffered result."""


@dataclass(frozen=True)
class RateLimitKind(BufferedKind[_Live]):
    """The kind of stores with buffered results, ordered by key."""

    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return RateLimitStore(spec, overlay)

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return key_of_timed_row(row)

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return RowForm(spec)

    @override
    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[Any, ...]]:
        """Return a function that returns key and window of a row."""
        data = spec.key.ordered.serialize
        return lambda row: (data(row[0].key), row[0].start_ms, row[0].end_ms)


RATE_LIMIT = RateLimitKind("paced")


def rate_limit_store(
    name: str, *, key: Serde[K], value: Serde[V]
) -> StoreSpec[RateLimitStore[K, V]]:
    """Define the store in which `at_most_every` buffers results.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: The serde of the aggregator's states: the aggregator's `state`.
    """
    return StoreSpec(name, RATE_LIMIT, key, value)
