"""A custom store kind, unknown to the library: members with scores, ordered by both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from kstreams import DOUBLE, Serde, View
from kstreams.state import Pair
from kstreams.store_kinds import (
    AheadRows,
    Before,
    ChangelogForm,
    ChangelogRecord,
    CompositeSerde,
    Content,
    Overlay,
    PlainForm,
    StoreKind,
    StoreOverlay,
    Times,
)
from kstreams.stores import StoreSpec

K = TypeVar("K")
"""Type of the members."""

BY_MEMBER, BY_SCORE, END = b"\x00", b"\x01", b"\x02"
"""Prefixes of the two ranges of rows, and the end of both."""


class RowKeys(CompositeSerde[Any]):
    """`(member,)` in one range, `(score, member)` in the other."""

    type_token = tuple

    def __init__(self, member: Serde[Any]) -> None:
        super().__init__("sorted-set-key", member)
        self._member = member.ordered

    def serialize(self, value: tuple[Any, ...]) -> bytes:
        member = self._member.serialize(value[-1])
        if len(value) == 1:
            return BY_MEMBER + member
        return BY_SCORE + DOUBLE.ordered.serialize(value[0]) + member

    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        if data[:1] == BY_MEMBER:
            return (self._member.deserialize(data[1:]),)
        return DOUBLE.ordered.deserialize(data[1:9]), self._member.deserialize(data[9:])


class SortedSet(Generic[K]):
    """The part of a sorted set in one task."""

    def __init__(self, spec: StoreSpec[SortedSet[K]], overlay: Overlay) -> None:
        self._member = spec.key.ordered
        self._rows = rows_of(spec, overlay)

    def get(self, member: K) -> float | None:
        """Return the score of a member, or None."""
        score: float | None = self._rows.get((member,))
        return score

    def put(self, member: K, score: float | None) -> None:
        """Set the score of a member; None removes the member."""
        before = self.get(member)
        if before is not None:
            self._rows.put((before, member), None)
        self._rows.put((member,), score)
        if score is not None:
            self._rows.put((score, member), score)

    def rank(self, member: K) -> int | None:
        """Return the number of members with a lower score."""
        score = self.get(member)
        return None if score is None else self.below(score, member)

    def below(self, score: float, member: K) -> int:
        """Return the number of members before a score and member."""
        end = BY_SCORE + DOUBLE.ordered.serialize(score) + self._member.serialize(member)
        return sum(1 for _ in self._rows.scan(BY_SCORE, end))

    def range(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, float]]:
        """Yield members with `start <= member < end` and their scores, by member."""
        low = BY_MEMBER + (b"" if start is None else self._member.serialize(start))
        high = BY_SCORE if end is None else BY_MEMBER + self._member.serialize(end)
        for (member,), score in self._rows.scan(low, high, reverse=reverse):
            yield member, score

    def by_score(self, low: float, high: float) -> Iterator[tuple[float, K]]:
        """Yield scores with `low <= score < high` and their members, in order."""
        encode = DOUBLE.ordered.serialize
        start, end = BY_SCORE + encode(low), BY_SCORE + encode(high)
        for row, _ in self._rows.scan(start, end):
            yield row


def rows_of(spec: StoreSpec[Any], overlay: Overlay) -> StoreOverlay:
    return overlay.store(spec.name, RowKeys(spec.key), spec.value)


class Logged(PlainForm):
    """Changelog form of member and score, without the index."""

    def records(
        self, changes: Sequence[Pair], before: Before, time_ms: int
    ) -> Iterator[ChangelogRecord]:
        members = [(key[1:], value) for key, value in changes if key[:1] == BY_MEMBER]
        return super().records(members, before, time_ms)


class Ahead:
    """Reads rows of members ahead."""

    def __init__(self, rows: StoreOverlay) -> None:
        self._rows = rows

    def share_cached(self, keys: Sequence[Any]) -> float:
        return self._rows.share_cached([(key,) for key in keys])

    def read_ahead(self, keys: Sequence[Any]) -> None:
        self._rows.read_ahead([(key,) for key in keys])
        READ_AHEAD.extend(keys)


READ_AHEAD: list[Any] = []
"""The keys that were read ahead in this process."""


@dataclass(frozen=True)
class SortedSetKind(StoreKind[SortedSet[Any]]):
    """The store kind of `SortedSet`."""

    columns: ClassVar[tuple[str, ...]] = ("member", "score")

    def open(self, spec: StoreSpec[SortedSet[Any]], overlay: Overlay) -> SortedSet[Any]:
        return SortedSet(spec, overlay)

    def read_ahead(self, spec: StoreSpec[SortedSet[Any]], overlay: Overlay) -> AheadRows:
        return Ahead(rows_of(spec, overlay))

    def changelog(self, spec: StoreSpec[SortedSet[Any]]) -> ChangelogForm:
        return Logged(spec)

    def scan(
        self, store: SortedSet[Any], start: object, end: object, *, reverse: bool
    ) -> Iterator[tuple[Any, float]]:
        return store.range(start, end, reverse=reverse)

    def flat_of_key(
        self, store: SortedSet[Any], key: object, times: Times
    ) -> Iterator[tuple[Any, ...]]:
        if (score := store.get(key)) is not None:
            yield score, store.rank(key)

    def contents(self, spec: StoreSpec[SortedSet[Any]], overlay: Overlay) -> Iterator[Content]:
        for member, score in self.open(spec, overlay).range():
            yield Content(member, score)

    def filling(
        self, spec: StoreSpec[SortedSet[Any]], overlay: Overlay
    ) -> Callable[[Content], object]:
        store = self.open(spec, overlay)
        return lambda content: store.put(content.key, content.value)


SORTED_SET = SortedSetKind("sorted-set")


def sorted_set(name: str, *, member: Serde[K]) -> StoreSpec[SortedSet[K]]:
    return StoreSpec(name, SORTED_SET, member, DOUBLE)


def rank(view: View[SortedSet[K]], member: K) -> int | None:
    """Return the number of members before one in all partitions, at one version."""

    def look(stores: Sequence[SortedSet[K]]) -> int | None:
        scores = [score for store in stores if (score := store.get(member)) is not None]
        return sum(store.below(scores[0], member) for store in stores) if scores else None

    return view.read(look)


def by_score(view: View[SortedSet[K]], low: float, high: float) -> list[K]:
    """Return the members of all partitions with `low <= score < high`, in order."""
    rows = view.scan(lambda store: store.by_score(low, high), order=lambda row: row[0])
    return [member for _, member in rows]
