"""Conversion of results to changes by key, in the format of a destination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams import Record
from kstreams.sinks import RefusedRow
from kstreams_rows.refusing import reason_of, refused

__all__ = ("Change", "fitting", "in_rounds", "lasts", "made")

N = TypeVar("N")
"""The type of a key in the form of the store."""
R = TypeVar("R")
"""The type of a row in the form of the store."""
E = TypeVar("E")
"""The type of a rejection's description."""
M = TypeVar("M")
"""The type that is written for a result."""


@dataclass(frozen=True, slots=True)
class Change(Generic[N, R]):
    """The change of one key.

    Attributes:
        key: The key as the store compares it, hashable. Of several changes with equal keys, the
            last is written.
        row: The row; None deletes the key.
        size: The approximate size in bytes.
    """

    key: N
    row: R | None
    size: int = 0


def made(
    records: Sequence[Record[Any, Any]], make: Callable[[Record[Any, Any]], M | None]
) -> tuple[list[tuple[int, M]], list[RefusedRow]]:
    """Return the values to write, with the numbers of their results, and the rejected results.

    Args:
        records: A task's results of a batch.
        make: Builds the value to write, or None to skip the result. It calls user functions; an
            exception rejects the record.
    """
    found: list[tuple[int, M]] = []
    wrong: list[RefusedRow] = []
    for number, record in enumerate(records):
        try:
            each = make(record)
        except Exception as exc:  # noqa: BLE001  # user code, and unsupported values
            wrong.append(refused(number, record, reason_of(exc)))
        else:
            if each is not None:
                found.append((number, each))
    return found, wrong


def lasts(found: Iterable[tuple[int, Change[N, R]]]) -> list[Change[N, R]]:
    """Return the last change of each key."""
    return list({change.key: change for _, change in found}.values())


def in_rounds(
    found: Iterable[tuple[int, Change[N, R]]],
    write: Callable[[Sequence[tuple[int, Change[N, R]]]], Mapping[int, E]],
) -> dict[int, E]:
    """Write the last change of each key; if it is rejected, write the one before it.

    Args:
        found: Numbers and changes, in order.
        write: Writes changes of distinct keys; returns the rejections, by number.

    Returns:
        All rejections, by number.
    """
    by_key: dict[N, list[tuple[int, Change[N, R]]]] = {}
    for number, change in found:
        by_key.setdefault(change.key, []).append((number, change))
    refused_rows: dict[int, E] = {}
    while by_key:
        bad = write([own[-1] for own in by_key.values()])
        refused_rows.update(bad)
        left = {key: own[:-1] for key, own in by_key.items() if own[-1][0] in bad}
        by_key = {key: own for key, own in left.items() if own}
    return refused_rows


def fitting(rows: Sequence[Change[N, R]], start: int, most: int, most_bytes: int) -> int:
    """Return the index after the last row for one write, limited by rows and bytes.

    A write has at least one row from `start` on, however large.
    """
    size = 0
    for number in range(start, min(len(rows), start + most)):
        size += rows[number].size
        if size > most_bytes and number > start:
            return number
    return min(len(rows), start + most)
