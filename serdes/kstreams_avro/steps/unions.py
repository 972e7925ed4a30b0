"""Steps of unions, whose values are encoded as the number of a branch and a value of the branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams_avro.datum import Malformed
from kstreams_avro.steps.cursor import Cursor, taken
from kstreams_avro.steps.scalars import NullStep
from kstreams_avro.steps.step import Read, Step, read_long

__all__ = ("RefusedStep", "UnionStep", "named_step")


class RefusedStep(Step):
    """Rejects values of a branch that the reader cannot read.

    Args:
        problem: The reason.
    """

    arrow = None
    least = 0
    passable = False

    def __init__(self, problem: str) -> None:
        def read(_: bytes, __: int, ___: int) -> tuple[Any, int]:
            raise Malformed(problem)

        self.read: Read = read

    def column(self, cursor: Cursor) -> pa.Array:
        """Raise `Malformed`, unless there are no rows."""
        if len(cursor):
            raise Malformed("a value has a union branch that the reader's schema cannot read")
        return pa.nulls(0)


class UnionStep(Step):
    """Reads unions; as columns only if the branches are null and at most one other.

    Args:
        branches: A step for each branch of the writer.
        nothing: The column type if null is the only readable branch; None without columns.
    """

    least = 1

    def __init__(self, branches: Sequence[Step], nothing: pa.DataType | None) -> None:
        self._branches = tuple(branches)
        self.passable = all(
            branch.passable or isinstance(branch, RefusedStep) for branch in branches
        )
        others = [branch for branch in branches if not isinstance(branch, (NullStep, RefusedStep))]
        self._value = others[0] if len(others) == 1 else None
        self.arrow = self._value.arrow if self._value else None if others else nothing
        reads = tuple(branch.read for branch in branches)
        count = len(reads)

        def read(data: bytes, place: int, depth: int) -> tuple[Any, int]:
            number, place = read_long(data, place)
            if not 0 <= number < count:
                raise Malformed(f"expected a union branch index of 0 to {count - 1}, got {number}")
            return reads[number](data, place, depth)

        self.read: Read = read

    def column(self, cursor: Cursor) -> pa.Array:
        """Return a column with the values of the branch other than null, and nulls."""
        found = pa.nulls(len(cursor), self.arrow)
        for rows, branch, ahead in self._parts(cursor):
            column = branch.column(ahead)
            cursor.follow(rows, ahead)
            if branch is self._value:
                found = taken(column, rows, len(cursor))
        return found

    @override
    def skip(self, cursor: Cursor) -> None:
        for rows, branch, ahead in self._parts(cursor):
            branch.skip(ahead)
            cursor.follow(rows, ahead)

    def _parts(self, cursor: Cursor) -> list[tuple[Any, Step, Cursor]]:
        """Return, for each branch with values, its rows, its step and a cursor of these rows."""
        numbers = cursor.longs()
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(self._branches)):
            raise Malformed(
                f"expected union branch indexes of 0 to {len(self._branches) - 1}, got an index "
                f"outside of this range"
            )
        parts = []
        for number, branch in enumerate(self._branches):
            rows = np.flatnonzero(numbers == number)
            if len(rows):
                parts.append((rows, branch, cursor.some(rows)))
        return parts


def named_step(name: str, step: Step) -> Step:
    """Return a decoding step whose results are pairs of a record's name and the record."""
    return _NamedStep(name, step)


class _NamedStep(Step):
    arrow = None

    def __init__(self, name: str, step: Step) -> None:
        self.least = step.least
        self.passable = step.passable
        self._step = step
        read = step.read

        def reads(data: bytes, place: int, depth: int) -> tuple[Any, int]:
            value, place = read(data, place, depth)
            return (name, value), place

        self.read: Read = reads

    def column(self, cursor: Cursor) -> pa.Array:
        """Return a column of records, without their name."""
        return self._step.column(cursor)

    @override
    def skip(self, cursor: Cursor) -> None:
        self._step.skip(cursor)
