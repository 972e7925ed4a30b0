"""The kind of join stores, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from typing_extensions import override

from kstreams._types import K
from kstreams.errors import StoreError
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.join.changelog import JoinForm
from kstreams.state.stores.join.rows import JoinRows
from kstreams.state.stores.join.setup import Clocks, Setup
from kstreams.state.stores.join.sides import SidesSerde
from kstreams.state.stores.join.store import JoinStore, RememberedRecord
from kstreams.state.stores.kind import Content, StoreKind, Times, is_within
from kstreams.state.stores.spec import StoreSpec

__all__ = ("JOIN", "JoinKind", "join_store")

VL = TypeVar("VL")
"""Type of the left values."""
VR = TypeVar("VR")
"""Type of the right values."""

_Live = JoinStore[Any, Any, Any]
_Row = tuple[Any, RememberedRecord[Any, Any]]
"""A key and a remembered record."""


@dataclass(frozen=True)
class JoinKind(StoreKind[_Live]):
    """The kind of stores with the records of both sides of a join, by side, time bucket and key."""

    columns: ClassVar[tuple[str, ...]] = ("key", "left", "right", "timestamp_ms")
    has_times: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return JoinStore(spec, overlay)

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return JoinForm(spec)

    @override
    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        rows = store.fetch_all(reverse=reverse)
        return (row for row in rows if is_within(row[0], start, end))

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[Any, ...]]:
        """Return a function that returns side, time bucket, key and time of a row."""
        data = spec.key.ordered.serialize
        return lambda row: (row[1].side, row[1].bucket_ms, data(row[0]), row[1].timestamp)

    @override
    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        key, found = row
        yield key, found.left, found.right, found.timestamp

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield left and right value (one of them None) and time (ms) of a key's records."""
        low, high = times
        for _, found in store.fetch(key, low, None if high is None else high - 1):
            yield found.left, found.right, found.timestamp

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield the records of both sides, each with its metadata; see `JoinRows.contents`."""
        return JoinRows.of(self.open(spec, overlay)).contents()

    @override
    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        return JoinRows.of(self.open(spec, overlay)).fill

    def task_values(self, spec: StoreSpec[_Live], overlay: Overlay) -> tuple[Setup, Clocks] | None:
        """Return the time spans of the join and the newest and final times; None if not used."""
        rows = JoinRows.of(self.open(spec, overlay))
        setup = rows.setup()
        return None if setup is None else (setup, rows.clocks())

    def set_task_values(
        self, spec: StoreSpec[_Live], overlay: Overlay, found: Sequence[object]
    ) -> None:
        """Set the latest newest times, and the earliest final times, of all old tasks.

        Records before the final time of their old task that were forwarded alone are not in the
        stores of the new tasks; see `contents`.

        Raises:
            StoreError: The old tasks have different time spans.
        """
        used: list[Any] = [values for values in found if values is not None]
        if not used:
            return
        setups = {setup for setup, _ in used}
        if len(setups) > 1:
            raise StoreError(
                f"the tasks of join store {spec.name!r} have different time spans: some tasks "
                "have not run since the spans of the join were changed",
                hint="run the app with the old partition counts until all tasks have run.",
            )
        rows = JoinRows.of(self.open(spec, overlay))
        rows.set_up(*setups)
        rows.set_clocks(Clocks.following([clocks for _, clocks in used], rows.clocks().number))


JOIN = JoinKind("join")


def join_store(
    name: str, *, key: Serde[K], left: Serde[VL], right: Serde[VR]
) -> StoreSpec[JoinStore[K, VL, VR]]:
    """Define the store of a join of two streams.

    The join's `within` determines for how long records are retained. Only one join can use such a
    store. An inner self-join stores the left side only.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        left: Serde of the left values.
        right: Serde of the right values.
    """
    return StoreSpec(name, JOIN, key, SidesSerde(left, right))
