"""The results of a stream join in a batch, as a table in the order of the input records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.joins.columns.batch_join import Outcome
from kstreams.joins.columns.join_input import NO_KEY, JoinInput
from kstreams.joins.joiner import Joiner
from kstreams.processors.columns import STREAM_TIME, ColumnSource
from kstreams.processors.each_row import each_row
from kstreams.serde.object_columns import ObjectColumns

__all__ = ("ended_results", "results_of")

_NONE = -1
"""Marks a missing value instead of an index."""
_EXPIRED, _OWN = 0, 1
"""The sort order of results at a record: expired records, then own pairs (2: as right record)."""


def results_of(
    inputs: JoinInput,
    outcome: Outcome,
    joiner: Joiner[Any, Any, Any, Any],
    sources: tuple[ColumnSource, ColumnSource],
    held: ObjectColumns,
) -> pa.Table | None:
    """Return the results of a batch in the order of the records that cause them.

    For each record, the unmatched results of the windows that it closes precede its own results.
    Returns None if there is no result.

    Args:
        inputs: The records of the batch.
        outcome: The outcome of the join.
        joiner: Creates results.
        sources: The inputs of the records.
        held: Holds results without an Arrow type.
    """
    known, met = outcome.known, outcome.met
    count = len(outcome.elements.times)
    nulls = np.flatnonzero((inputs.codes == NO_KEY) & _kept(joiner)[inputs.sides])
    null_sides = inputs.sides[nulls]
    whens = np.searchsorted(inputs.stream, outcome.closes, "right")
    alone, closed = outcome.alone, outcome.closed
    numbers = np.concatenate((outcome.elements.numbers, _after(outcome, known.places[count:])))
    none = np.zeros(len(alone) + len(nulls), np.int64)
    own_rows = np.concatenate((met.places, known.places[alone], nulls))
    rows = np.concatenate((own_rows, whens))
    turns = np.concatenate(
        (
            _OWN + met.turns,
            np.full(len(none), _OWN),
            np.full(len(whens), _EXPIRED),
        )
    )
    order = np.lexsort(
        (
            np.concatenate((np.zeros(len(met.places) + len(none), np.int64), numbers[closed])),
            np.concatenate((np.zeros(len(met.places) + len(none), np.int64), known.times[closed])),
            np.concatenate((numbers[met.earlier], none, known.sides[closed])),
            np.concatenate((known.times[met.earlier], none, outcome.closes)),
            turns,
            rows,
        )
    )
    if not len(order):
        return None
    extra = len(known.times) + np.arange(len(nulls))
    sides = [
        np.concatenate(
            (
                pairs,
                np.where(known.sides[alone] == side, alone, _NONE),
                np.where(null_sides == side, extra, _NONE),
                np.where(known.sides[closed] == side, closed, _NONE),
            )
        )[order]
        for side, pairs in ((0, met.left), (1, met.right))
    ]
    codes = np.append(np.concatenate((known.codes, np.full(len(nulls), _NONE))), _NONE)
    times = np.concatenate((known.times, inputs.times[nulls]))
    own = np.maximum(sides[0], sides[1])
    rows = rows[order]
    headers = pa.concat_arrays([inputs.headers(own_rows), outcome.headers])
    stamps = np.maximum(times[sides[0]], times[sides[1]])
    stamps = np.where(np.minimum(sides[0], sides[1]) == _NONE, times[own], stamps)
    all_keys = sources[0].key.ordered.to_arrow(outcome.keys)
    of_keys = codes[own]
    table = pa.table(
        {
            "key": all_keys.take(pa.array(np.maximum(of_keys, 0), mask=of_keys == _NONE)),
            "timestamp": pa.array(stamps),
            "headers": headers.take(pa.array(order)),
            STREAM_TIME: pa.array(inputs.stream[rows]),
        }
    )
    values = _Values(inputs, outcome, nulls, sources)
    results = each_row(joiner.function, table, *(values.of(places) for places in sides))
    return table.append_column("value", held.column(results))


def ended_results(
    outcome: Outcome,
    joiner: Joiner[Any, Any, Any, Any],
    sources: tuple[ColumnSource, ColumnSource],
    held: ObjectColumns,
) -> pa.Table | None:
    """Return the results of windows that close without a new record, in closing order.

    Returns None if there is no result. The arguments are those of `results_of`.
    """
    closed, known = outcome.closed, outcome.known
    numbers = outcome.elements.numbers[closed]
    order = np.lexsort((numbers, known.times[closed], known.sides[closed], outcome.closes))
    closed = closed[order]
    if not len(closed):
        return None
    keys = sources[0].key.ordered.to_arrow(outcome.keys.take(pa.array(known.codes[closed])))
    headers = outcome.headers.take(pa.array(order))
    times = pa.array(known.times[closed])
    table = pa.table({"key": keys, "timestamp": times, "headers": headers})
    values = _Values(JoinInput.none(sources), outcome, closed[:0], sources)
    sides = known.sides[closed]
    arguments = (values.of(np.where(sides == side, closed, _NONE)) for side in (0, 1))
    return table.append_column("value", held.column(each_row(joiner.function, table, *arguments)))


class _Values:
    """Reads the values of records by index.

    The first indexes are those of `Outcome.known`; the records with null keys follow.

    Args:
        inputs: The records of the batch.
        outcome: The outcome of the join.
        nulls: The row numbers, in `inputs`, of the records with null keys.
        sources: The inputs of the records.
    """

    def __init__(
        self,
        inputs: JoinInput,
        outcome: Outcome,
        nulls: Ints,
        sources: tuple[ColumnSource, ColumnSource],
    ) -> None:
        self._inputs = inputs
        self._outcome = outcome
        self._rows = np.concatenate((outcome.known.places, nulls))
        self._sources = sources

    def of(self, places: Ints) -> list[Any]:
        """Return the values at the given indexes; None for an index of -1."""
        wanted, which = np.unique(places, return_inverse=True)
        found = np.empty(len(wanted), object)
        count = len(self._outcome.elements.times)
        fresh = np.flatnonzero(wanted >= count)
        if len(fresh):
            found[fresh] = self._inputs.objects(self._rows[wanted[fresh]])
        old = np.flatnonzero((wanted >= 0) & (wanted < count))
        sides = self._outcome.known.sides[wanted[old]]
        for side in (0, 1):
            own = old[sides == side]
            if len(own):
                data = self._outcome.elements.values.take(pa.array(wanted[own]))
                values = self._sources[side].value.deserialize_many(data)
                for place, value in zip(own.tolist(), values, strict=True):
                    found[place] = value
        objects: list[Any] = found[which].tolist()
        return objects


def _kept(joiner: Joiner[Any, Any, Any, Any]) -> Any:  # noqa: ANN401  # a column of bools
    return np.array([joiner.keeps(left=True), joiner.keeps(left=False)])


def _after(outcome: Outcome, places: Ints) -> Ints:
    """Return numbers that order the batch's records by position, after all stored records.

    Args:
        outcome: The outcome of the join, with the numbers of the stored records.
        places: The batch positions of the records.
    """
    last = int(outcome.elements.numbers.max(initial=0))
    numbers: Ints = last + 1 + places
    return numbers
