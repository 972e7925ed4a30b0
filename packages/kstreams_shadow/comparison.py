"""Comparison of the results of two replicas, record by record within each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, NamedTuple

__all__ = ("Difference", "Result", "Tally", "Verdict", "compared_results")

Verdict = Literal["different", "only old", "only new"]
"""The relation of two results that are not equal."""


class Result(NamedTuple):
    """A result, or a row of a store.

    Attributes:
        key: The key as text.
        value: The value as text.
        content: The whole content besides the key; equal results have equal contents.
    """

    key: str
    value: str
    content: tuple[object, ...]


class Difference(NamedTuple):
    """Two results of one key that are not equal.

    Attributes:
        verdict: The relation of the results.
        key: The key as text.
        old: The value of the old topology as text; None without a result.
        new: The value of the new topology as text; None without a result.
    """

    verdict: Verdict
    key: str
    old: str | None
    new: str | None


@dataclass(frozen=True)
class Tally:
    """The numbers of compared results.

    Attributes:
        equal: Pairs of equal results.
        different: Pairs of results of one key that are not equal.
        only_old: Results that only the old topology has.
        only_new: Results that only the new topology has.
    """

    equal: int = 0
    different: int = 0
    only_old: int = 0
    only_new: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether no result differs."""
        return not (self.different or self.only_old or self.only_new)

    def __add__(self, other: Tally) -> Tally:
        """Return the sums."""
        return Tally(
            self.equal + other.equal,
            self.different + other.different,
            self.only_old + other.only_old,
            self.only_new + other.only_new,
        )

    def to_json(self) -> dict[str, int]:
        """Return the numbers by name."""
        return dict(vars(self))


def compared_results(
    old: Iterable[Result], new: Iterable[Result], most: int
) -> tuple[Tally, list[Difference]]:
    """Compare the results of each key in their order.

    The first result of a key is compared with the first one of the other side, and so on. Results
    of other keys between them do not matter.

    Args:
        old: The results of the old topology.
        new: The results of the new topology.
        most: The maximum number of differences to return.

    Returns:
        The numbers of results, and the first differences by key.
    """
    olds, news = _by_key(old), _by_key(new)
    counts = {"equal": 0, "different": 0, "only old": 0, "only new": 0}
    found: list[Difference] = []
    for key in dict.fromkeys((*olds, *news)):
        for mine, other in zip_longest(olds.get(key, ()), news.get(key, ())):
            verdict = _verdict(mine, other)
            counts[verdict or "equal"] += 1
            if verdict is not None and len(found) < most:
                values = (None if each is None else each.value for each in (mine, other))
                found.append(Difference(verdict, key, *values))
    return Tally(*counts.values()), found


def _by_key(results: Iterable[Result]) -> Mapping[str, Sequence[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.key, []).append(result)
    return found


def _verdict(old: Result | None, new: Result | None) -> Verdict | None:
    if old is None:
        return "only new"
    if new is None:
        return "only old"
    return None if old.content == new.content else "different"
