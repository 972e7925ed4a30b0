"""From results to rows by key, each in the form of its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams import Record
from kstreams.sinks import RefusedRow
from kstreams_rows.refusing import reason_of, refused

__all__ = ("Change", "fitting", "in_rounds", "lasts", "made")

N = TypeVar("N")
"""A key as its place takes it."""
R = TypeVar("R")
"""A row as its place takes it."""
E = TypeVar("E")
"""What a place says of a row that it refuses."""
M = TypeVar("M")
"""What is written of a result."""


@dataclass(frozen=True, slots=True)
class Change(Generic[N, R]):
    """What is to become of one key.

    Attributes:
        key: The key as the place has it, hashable: of rows with equal ones the last counts.
        row: The row; None deletes.
        size: About how many bytes it takes.
    """

    key: N
    row: R | None
    size: int = 0


def made(
    records: Sequence[Record[Any, Any]], make: Callable[[Record[Any, Any]], M | None]
) -> tuple[list[tuple[int, M]], list[RefusedRow]]:
    """Return what is to be written, with numbers of results, and the results that cannot be.

    Args:
        records: A task's results of a batch.
        make: Makes what is written as the place has it, or nothing. What it raises is a fault of
            the record; it calls functions of the user's.
    """
    found: list[tuple[int, M]] = []
    wrong: list[RefusedRow] = []
    for number, record in enumerate(records):
        try:
            each = make(record)
        except Exception as exc:  # noqa: BLE001  # user code, and what the place has no form for
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
    """Write the last change of each key; where the place refuses it, the one before it.

    Args:
        found: Numbers and changes, in order.
        write: Writes changes of unlike keys; returns what is said of those that are refused, by
            number.

    Returns:
        What is said of all that are refused.
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
    """Return before which row to stop, so that few enough go in together; at least one does."""
    size = 0
    for number in range(start, min(len(rows), start + most)):
        size += rows[number].size
        if size > most_bytes and number > start:
            return number
    return min(len(rows), start + most)
